package cli

import (
	"cmp"
	"fmt"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
)

// printPhases prints a table with a line for each network, nothing where no
// network has a phase.
func printPhases(s screen, networks []nodestatus.NetworkStatus) error {
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
				cell{text: wording.Printable(n.Name)},
				cell{text: wording.Printable(string(n.Phase))},
				cell{text: wording.Printable(cmp.Or(string(n.Target), "-"))},
				cell{text: fmt.Sprint(n.Unproven)},
				cell{text: directoryText(n.MigrationStatus)},
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

// directoryText is host-local's directory, as far as it is one.
func directoryText(m nodestatus.MigrationStatus) string {
	if m.Shut {
		return wording.Printable(m.Directory) + " (shut)"
	}
	return wording.Printable(cmp.Or(m.Directory, "-"))
}
