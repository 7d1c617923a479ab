package nodestatus

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/internal/cmdline"
	"github.com/bolt-local/bolt-local/store"
)

// problem reports what is wrong with the checkpoint now.
func (f *finder) problem(snap Snapshot) {
	if snap.Problem == nil {
		if snap.Unwritable != nil {
			f.refused("", snap.Unwritable)
		}
		return
	}
	n := Notice{Kind: KindProblem, Text: wording.OneLine(snap.Problem.Error())}
	if snap.damaged() {
		n.Text += ". The next ADD or DEL that meets it heals it if the journal is whole, all is of an earlier boot, or host-local's directory has everything."
	}
	if snap.damaged() || errors.Is(snap.Problem, store.ErrLost) {
		n.Command = f.sources.Command(f.dataDir, "repair", "--dry-run")
	}
	f.add(n)
}

// refused reports that an ADD cannot write, in a network or for "" in all.
func (f *finder) refused(network string, why error) {
	f.add(Notice{Kind: KindProblem, Network: network, Text: "ADD is refused: " + wording.OneLine(why.Error()) + "."})
}

// damage reports what came of former damage.
func (f *finder) damage(snap Snapshot) {
	f.lost("", snap.Lost)
	for _, d := range FormerDamages(snap.Damages, f.dataDir) {
		f.add(Notice{Kind: KindHealed, Text: d.String() + ".", Command: cmdline.Command(f.dataDir, "repair", "--acknowledge")})
	}
	f.deferred(snap.Deferred)
}

// deferred reports DELs that wait.
func (f *finder) deferred(n int) {
	where := filepath.Join(f.dataDir, store.DeferredDir)
	switch n {
	case 0:
	case 1:
		f.add(Notice{Kind: KindDeferredDel, Text: fmt.Sprintf(
			"1 DEL waits in %s: once the checkpoint can be written and nothing is missing in its network, the next ADD, DEL or GC there carries it out and frees its addresses.", where)})
	default:
		f.add(Notice{Kind: KindDeferredDel, Text: fmt.Sprintf(
			"%d DELs wait in %s: once the checkpoint can be written and nothing is missing in their networks, the next ADD, DEL or GC there carries them out and frees their addresses.", n, where)})
	}
}

// lost reports that ADD is refused in a network, or for "" in all that are not
// stored. why is "" where it is not. Once repair has searched all there is, the
// next thing is to compare.
func (f *finder) lost(network, why string) {
	if why == "" {
		return
	}
	where := "In every network that is not stored, ADD is refused"
	if network != "" {
		where = "ADD is refused"
	}
	dump := cmdline.Command(f.dataDir, "dump")
	next := f.sources.Command(f.dataDir, "repair")
	if f.searched {
		next = dump
	}
	f.add(Notice{Kind: KindLost, Network: network, Command: next, Text: fmt.Sprintf(
		"%s until the next boot: %s. If `%s` has every pod of the node, `%s` lets it go on at once.",
		where, why, dump, f.sources.Command(f.dataDir, "repair", "--accept"))})
}
