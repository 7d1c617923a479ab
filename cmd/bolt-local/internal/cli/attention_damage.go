package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bolt-local/bolt-local/store"
)

// problem reports what is wrong with the checkpoint now.
func (f *finder) problem(snap snapshot) {
	if snap.problem == nil {
		return
	}
	n := notice{Kind: kindProblem, Text: oneLine(snap.problem.Error())}
	if snap.damaged() {
		n.Text += ". The next ADD or DEL that meets it heals it if the journal is whole."
	}
	if snap.damaged() || errors.Is(snap.problem, store.ErrLost) {
		n.Command = ownCommand(f.dataDir, "repair", "--dry-run")
	}
	f.add(n)
}

// damage reports what came of former damage.
func (f *finder) damage(snap snapshot) {
	f.lost("", snap.lost)
	for _, d := range newFormerDamages(snap.damages, f.dataDir) {
		f.add(notice{Kind: kindHealed, Text: d.String() + ".", Command: ownCommand(f.dataDir, "repair", "--acknowledge")})
	}
	f.deferred(snap.deferred)
}

// deferred reports DELs that wait.
func (f *finder) deferred(n int) {
	where := filepath.Join(f.dataDir, store.DeferredDir)
	switch n {
	case 0:
	case 1:
		f.add(notice{Kind: kindDeferredDel, Text: fmt.Sprintf(
			"1 DEL waits in %s: once the checkpoint can be written and nothing is missing in its network, the next ADD, DEL or GC there carries it out and frees its addresses.", where)})
	default:
		f.add(notice{Kind: kindDeferredDel, Text: fmt.Sprintf(
			"%d DELs wait in %s: once the checkpoint can be written and nothing is missing in their networks, the next ADD, DEL or GC there carries them out and frees their addresses.", n, where)})
	}
}

// lost reports that ADD is refused in a network, or for "" in all that are not
// stored. why is "" where it is not.
func (f *finder) lost(network, why string) {
	if why == "" {
		return
	}
	where := "In every network that is not stored, ADD is refused"
	if network != "" {
		where = "ADD is refused"
	}
	f.add(notice{Kind: kindLost, Network: network, Command: ownCommand(f.dataDir, "repair"), Text: fmt.Sprintf(
		"%s until the next boot: %s. If `bolt-local dump` has every pod of the node, `bolt-local repair --accept` lets it go on at once.", where, why)})
}

// String tells what happened, without an end.
func (d formerDamage) String() string {
	var parts []string
	if d.Problem != "" {
		parts = append(parts, oneLine(d.Problem))
	}
	kept := "the damaged file"
	switch d.From {
	case store.SourceJournal:
		parts = append(parts, "everything was taken over from the journal")
	case store.SourceOldForm:
		parts = append(parts, "network "+d.Network+" was taken over from host-local's directory, and all others were lost")
	case store.SourceNewBoot:
		parts = append(parts, "it was begun anew, as nothing of an earlier boot is alive")
	case store.SourceRepair:
		parts = append(parts, "it was repaired by hand")
	case store.SourceBackup:
		parts = append(parts, "a backup was restored by hand")
		kept = "the file before"
	}
	if d.Kept != "" {
		parts = append(parts, kept+" is kept as "+d.Kept)
	}
	return d.Time.Format("2006-01-02 15:04:05 MST") + ": " + strings.Join(parts, "; ")
}
