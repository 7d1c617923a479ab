package cli

import (
	"fmt"
	"net/netip"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
)

// statusMigration is where a network's move from host-local stands, for the
// JSON of `status` and of `migrate status`.
type statusMigration struct {
	// Phase is the one that holds, Target that of the last ADD's configuration.
	Phase  engine.Phase `json:"phase,omitempty"`
	Target engine.Phase `json:"target,omitempty"`
	// WaitsFor is what the next step towards Target waits for.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Directory is host-local's, Shut that the tombstone is in its place.
	Directory string `json:"directory,omitempty"`
	Shut      bool   `json:"shut,omitempty"`
	// DirectoryChanged: somebody else has written there since the last call.
	DirectoryChanged bool `json:"directoryChanged,omitempty"`
	// Unproven counts the allocations of this boot that were imported, HostLocal
	// those that host-local made.
	Unproven  int          `json:"unproven"`
	HostLocal int          `json:"hostLocal"`
	SetAside  []netip.Addr `json:"setAside"`
	// Problem is why the directory could not be looked at.
	Problem string `json:"problem,omitempty"`
}

func newStatusMigration(n network, plugin *ipam.Plugin, epoch uint64) statusMigration {
	m := n.migration
	s := statusMigration{
		Phase:            m.phase,
		Target:           m.target,
		WaitsFor:         m.waitsFor(),
		Directory:        m.directory,
		Shut:             m.shut,
		DirectoryChanged: m.changed,
		SetAside:         make([]netip.Addr, len(m.aside)),
	}
	s.Unproven, s.HostLocal = n.imports(plugin, epoch)
	for i, a := range m.aside {
		s.SetAside[i] = a.Addr
	}
	if n.problem != nil {
		s.Problem = n.problem.Error()
	}
	return s
}

// directoryText is for people.
func (s statusMigration) directoryText() string {
	if s.Shut {
		return printable(s.Directory) + " (shut)"
	}
	return printable(orElse(s.Directory, "-"))
}

// printPhases prints a table with a line for each network, nothing where no
// network has a phase.
func printPhases(s screen, networks []statusNetwork) error {
	t := &table{columns: []column{
		{title: "NETWORK", least: 7},
		{title: "PHASE"},
		{title: "TARGET"},
		{title: "UNPROVEN", right: true},
		{title: "HOST-LOCAL'S DIRECTORY", least: 22, cut: cutMiddle},
	}}
	for _, n := range networks {
		if n.Phase != "" {
			t.add(
				cell{text: printable(n.Name)},
				cell{text: printable(string(n.Phase))},
				cell{text: printable(orElse(string(n.Target), "-"))},
				cell{text: fmt.Sprint(n.Unproven)},
				cell{text: n.directoryText()},
			)
		}
	}
	if len(t.rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(s); err != nil {
		return err
	}
	return t.print(s)
}
