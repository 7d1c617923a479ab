package nodestatus

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/store/record"
)

// migration reports what the move from host-local needs a person for, and what
// a person may want to know of it.
func (f *finder) migration(n Network) {
	m := n.Migration
	if n.Problem == nil && n.Unwritable != nil {
		f.refused(n.Name, n.Unwritable)
	}
	switch {
	case n.Problem != nil:
		f.add(Notice{Kind: KindProblem, Network: n.Name, Text: wording.OneLine(n.Problem.Error())})
	case m.Gap != "":
		f.add(Notice{Kind: KindTombstone, Network: n.Name, Text: fmt.Sprintf("No tombstone: %s.", m.Gap)})
	case m.Changed:
		f.add(Notice{Kind: KindDirectoryChanged, Network: n.Name, Text: fmt.Sprintf(
			"host-local, or somebody else, has changed %s since bolt-local's last call: the next ADD or DEL takes it over.", m.Directory)})
	case len(m.Differences) > 0:
		f.add(Notice{Kind: KindFormsDiffer, Network: n.Name, Command: f.command("migrate verify", n.Name), Text: fmt.Sprintf(
			"%s and the checkpoint differ in %s, and no call mends that.", m.Directory, wording.Counted(len(m.Differences), "address", "addresses"))})
	}
	if m.Waits != "" {
		f.add(Notice{Kind: KindMigrationWaits, Network: n.Name, Text: waitsText(m)})
	}
	f.aside(n)
}

func waitsText(m Migration) string {
	if next := m.Phase.Towards(m.Target); next != m.Phase {
		return fmt.Sprintf("The step from %s to %s waits: %s.", m.Phase, next, m.Waits)
	}
	return fmt.Sprintf("Phase %s waits: %s.", m.Phase, m.Waits)
}

// aside reports the files that stand for an address and name no holder, by what
// becomes of the address without them.
func (f *finder) aside(n Network) {
	var unnamed, fixed, held []filePath
	for _, a := range n.Migration.Aside {
		path := filePath(filepath.Join(n.Migration.Directory, a.File()))
		switch {
		case f.holds(n, a.Addr):
			held = append(held, path)
		case a.Fixed:
			fixed = append(fixed, path)
		default:
			unnamed = append(unnamed, path)
		}
	}
	if len(unnamed) > 0 {
		f.add(Notice{Kind: KindSetAside, Network: n.Name, Text: fmt.Sprintf(
			"%s given to nobody until the next boot, as the file names no holder, which a killed host-local leaves behind: %s. If no pod has the address, remove the file, and it is free at once.",
			wording.Counted(len(unnamed), "address is", "addresses are"), wording.List(unnamed))})
	}
	if len(fixed) > 0 {
		f.add(Notice{Kind: KindSetAside, Network: n.Name, Text: fmt.Sprintf(
			"%s given to nobody, as what stands for it is no file of host-local's, but a link, a directory or another spelling of the address: %s. Move it away, and the address is free.",
			wording.Counted(len(fixed), "address is", "addresses are"), wording.List(fixed))})
	}
	if len(held) > 0 {
		f.add(Notice{Kind: KindSetAside, Network: n.Name, Text: fmt.Sprintf(
			"%s held, beside something in the directory that stands for it and is no reservation: %s. Move it away: the pod keeps its address.",
			wording.Counted(len(held), "address is", "addresses are"), wording.List(held))})
	}
}

// holds tells whether an address of a network is held in this boot.
func (f *finder) holds(n Network, addr netip.Addr) bool {
	return slices.ContainsFunc(n.Allocations, func(a record.Allocation) bool {
		return a.Addr == addr && (a.Epoch == 0 || a.Epoch == f.epoch)
	})
}

type filePath string

func (p filePath) String() string { return string(p) }
