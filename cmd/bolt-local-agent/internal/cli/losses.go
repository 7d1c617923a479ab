package cli

import (
	"fmt"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/cri"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/internal/cmdline"
)

// staysRefused says that a loss is not accepted, why, and what a person may do.
func staysRefused(dataDir string, sources cmdline.Sources, why string) string {
	return fmt.Sprintf("ADD stays refused, as pods may run that are not recorded: %s; once `%s` has every pod of the node, `%s` lets it go on",
		why, cmdline.Command(dataDir, "dump"), sources.Command(dataDir, "repair", "--accept"))
}

// doubt is why what a runtime tells is not enough for a loss to be accepted upon
// it, "" where it is. A runtime without any sandbox may be the wrong one: the
// socket of containerd is there on a node of CRI-O, too.
func doubt(l cri.Listing, endpoint string) string {
	switch {
	case l.Listed == 0:
		return "the container runtime at " + endpoint + " lists no sandbox at all: if another one runs the node's pods, name its socket with --runtime-endpoint"
	case len(l.Started) > 0:
		return wording.Counted(len(l.Started), "sandbox was", "sandboxes were") + " started meanwhile, such as " + l.Started[0] + ": the next backfill asks for it"
	}
	return ""
}

// patience accepts a loss in the second round in a row that could: a pod whose
// ADD was answered just before the damage may be in no list of the first one.
type patience struct {
	last, now string // the loss that could be accepted, "" for none
}

// doubt is why the loss is not accepted in this round, "" where it is. found is
// for one that the round before cannot have seen.
func (p *patience) doubt(loss string, found bool) string {
	if p.now = loss; loss == "" || p.last == loss && !found {
		return ""
	}
	return "the runtime is asked once more in the next round, as a pod that was just started may be in no list yet"
}

// roundEnded begins the next round.
func (p *patience) roundEnded() { p.last, p.now = p.now, "" }
