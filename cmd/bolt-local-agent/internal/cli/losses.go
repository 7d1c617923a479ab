package cli

import (
	"fmt"
	"time"

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

// patience accepts a loss that each round could accept for a time, and two of
// them at least: a pod whose ADD was answered just before the damage is in no
// list yet while its runtime starts it.
type patience struct {
	least    time.Duration
	bootTime func() time.Duration

	last, now string        // the loss that could be accepted, "" for none
	since     time.Duration // when last could be for the first time
}

// doubt is why the loss is not accepted in this round, "" where it is.
func (p *patience) doubt(loss string) string {
	if loss != p.last {
		p.last, p.since = "", p.bootTime()
	}
	p.now = loss
	if loss == "" || p.last == loss && p.bootTime()-p.since >= p.least {
		return ""
	}
	return fmt.Sprintf("the runtime is asked again in the next rounds, for %s in all, as a pod that was just started may be in no list yet", p.least)
}

// roundEnded begins the next round.
func (p *patience) roundEnded() { p.last, p.now = p.now, "" }

// forget is for when another runtime answers: what one has said before does not
// count.
func (p *patience) forget() { p.last = "" }
