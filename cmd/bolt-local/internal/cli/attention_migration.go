package cli

import (
	"fmt"
	"path/filepath"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// migration reports what the move from host-local needs a person for, and what
// a person may want to know of it.
func (f *finder) migration(n network) {
	m := n.migration
	switch {
	case n.problem != nil:
		f.add(notice{Kind: kindProblem, Network: n.name, Text: oneLine(n.problem.Error())})
	case m.gap != nil:
		f.add(notice{Kind: kindTombstone, Network: n.name, Text: fmt.Sprintf("No tombstone: %s.", m.gap)})
	case m.changed:
		f.add(notice{Kind: kindDirectoryChanged, Network: n.name, Text: fmt.Sprintf(
			"host-local, or somebody else, has changed %s since bolt-local's last call: the next ADD or DEL takes it over.", m.directory)})
	case len(m.differences) > 0:
		f.add(notice{Kind: kindFormsDiffer, Network: n.name, Command: f.command("migrate verify", n.name), Text: fmt.Sprintf(
			"%s and the checkpoint differ in %s, and no call mends that.", m.directory, counted(len(m.differences), "address", "addresses"))})
	}
	if m.waits != "" {
		f.add(notice{Kind: kindMigrationWaits, Network: n.name, Text: waitsText(m)})
	}
	f.aside(n)
}

func waitsText(m migration) string {
	if next := m.phase.Towards(m.target); next != m.phase {
		return fmt.Sprintf("The step from %s to %s waits: %s.", m.phase, next, m.waits)
	}
	return fmt.Sprintf("Phase %s waits: %s.", m.phase, m.waits)
}

// aside reports the files that block an address, by what makes it free.
func (f *finder) aside(n network) {
	var unnamed, fixed []filePath
	for _, a := range n.migration.aside {
		if a.Fixed {
			fixed = append(fixed, asidePath(n.migration, a))
		} else {
			unnamed = append(unnamed, asidePath(n.migration, a))
		}
	}
	if len(unnamed) > 0 {
		f.add(notice{Kind: kindSetAside, Network: n.name, Text: fmt.Sprintf(
			"%s given to nobody until the next boot, as the file names no holder, which a killed host-local leaves behind: %s. If no pod has the address, remove the file, and it is free at once.",
			counted(len(unnamed), "address is", "addresses are"), list(unnamed))})
	}
	if len(fixed) > 0 {
		f.add(notice{Kind: kindSetAside, Network: n.name, Text: fmt.Sprintf(
			"%s given to nobody, as what stands for it is no file of host-local's, but a link, a directory or another spelling of the address: %s. Move it away, and the address is free.",
			counted(len(fixed), "address is", "addresses are"), list(fixed))})
	}
}

type filePath string

func (p filePath) String() string { return string(p) }

func asidePath(m migration, a form.Aside) filePath {
	return filePath(filepath.Join(m.directory, a.Addr.String()))
}
