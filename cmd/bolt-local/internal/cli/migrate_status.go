package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/migrate/engine"
)

// migrateStatus is the document that `migrate status` prints as JSON.
type migrateStatus struct {
	Networks []migrateNetwork `json:"networks"`
}

type migrateNetwork struct {
	Name string `json:"name"`
	nodestatus.MigrationStatus
	// Held counts the allocations of this boot.
	Held int `json:"held"`
	// back is what a person has to know before the type is changed back.
	back string
}

func (a *app) migrateStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [flags]",
		Short: "Show the phase of each network, and what the next step waits for",
		Long: `Show for each network its phase, the target that its configuration names, and
what the next step towards it waits for. HELD are the allocations of this boot,
HOST-LOCAL'S those of them that host-local made, and DIRECTORY is host-local's,
which in phase contract is shut: the tombstone stands in its place.

A line below tells where going back to host-local needs more than the type: it
reads ipam.dataDir, and not ipam.migration.hostLocalDir.`,
		Example: `  bolt-local migrate status
  bolt-local migrate status --output json | jq '.networks[] | {name, phase}'`,
	}
	only := a.networkFlag(cmd, "show this `network` alone")
	form := outputFlag(cmd, outputTable, outputJSON)
	return a.command(cmd, func(*cobra.Command) error {
		snap, err := a.load(*only)
		if err != nil {
			return err
		}
		st, problem := a.newMigrateStatus(snap), snap.Err()
		// What could not be seen must not look like nothing that is there.
		if problem == nil || len(st.Networks) > 0 {
			if err := a.printMigrateStatus(st, form.value); err != nil {
				return err
			}
		}
		return problem
	})
}

func (a *app) newMigrateStatus(snap nodestatus.Snapshot) migrateStatus {
	st := migrateStatus{Networks: []migrateNetwork{}}
	for _, n := range snap.Networks {
		st.Networks = append(st.Networks, migrateNetwork{
			Name:            n.Name,
			MigrationStatus: nodestatus.NewMigrationStatus(n, a.plugin, snap.Epoch),
			Held:            a.held(snap, n),
			back:            n.Migration.GoingBack(),
		})
	}
	return st
}

// held counts the allocations of this boot.
func (a *app) held(snap nodestatus.Snapshot, n nodestatus.Network) int {
	held := 0
	for _, alloc := range n.Allocations {
		if !a.plugin.Stale(snap.Epoch, alloc) {
			held++
		}
	}
	return held
}

func (a *app) printMigrateStatus(st migrateStatus, form string) error {
	if form == outputJSON {
		return printJSON(a.out, st)
	}
	return printMigrateTable(a.out, st)
}

// printMigrateTable prints a line for each network. A terminal that is too
// narrow for a reason gets it in full below, and so does everybody who has to
// know something before going back.
func printMigrateTable(s screen, st migrateStatus) error {
	t := &table{columns: []column{
		{title: "NETWORK", least: 7},
		{title: "PHASE"},
		{title: "TARGET"},
		{title: "WAITS-FOR", least: 9},
		{title: "HELD", right: true},
		{title: "HOST-LOCAL'S", right: true},
		{title: "DIRECTORY", least: 12, cut: cutMiddle},
	}}
	for _, n := range st.Networks {
		t.add(
			cell{text: wording.Printable(n.Name)},
			cell{wording.Printable(cmp.Or(string(n.Phase), "-")), phaseStyle(n.Phase)},
			cell{text: wording.Printable(cmp.Or(string(n.Target), "-"))},
			cell{text: wording.Printable(wording.OneLine(cmp.Or(n.WaitsFor, "-")))},
			cell{text: fmt.Sprint(n.Held)},
			cell{text: fmt.Sprint(n.HostLocal)},
			cell{text: directoryText(n.MigrationStatus)},
		)
	}
	if len(t.rows) == 0 {
		_, err := fmt.Fprintln(s, "No network is stored.")
		return err
	}
	if err := t.print(s); err != nil {
		return err
	}
	return printBelow(s, st)
}

// printBelow prints what has no place in the table.
func printBelow(s screen, st migrateStatus) error {
	var lines []string
	for _, n := range st.Networks {
		if n.WaitsFor != "" && s.terminal() {
			lines = append(lines, fmt.Sprintf("network %s waits: %s", n.Name, n.WaitsFor))
		}
		if n.back != "" {
			lines = append(lines, fmt.Sprintf("network %s, going back: %s", n.Name, n.back))
		}
	}
	gap := "\n"
	for _, line := range lines {
		if err := writeWrapped(s, gap, wording.Printable(wording.OneLine(line))); err != nil {
			return err
		}
		gap = ""
	}
	return nil
}

// phaseStyle sets off the end of the move.
func phaseStyle(p engine.Phase) style {
	if p == engine.Contract {
		return green
	}
	return plain
}
