package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/migrate/engine"
)

func (a *app) verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [flags]",
		Short: "Compare host-local's directory with the checkpoint",
		Long: `Compare what host-local's directory and the checkpoint say of each address, and
check the checkpoint itself. In phase contract there is no directory, and it is
checked that the tombstone is in its place. Nothing is changed.

The exit status is 1 where something differs, also where the next call mends it
by itself: then the directory was changed since bolt-local's last call.`,
		Example: `  bolt-local migrate verify
  bolt-local migrate verify --network podnet`,
	}
	only := a.networkFlag(cmd, "compare this `network` alone")
	return a.command(cmd, func(*cobra.Command) error { return a.verify(*only) })
}

func (a *app) verify(only string) error {
	snap, err := a.look(only, true)
	if err != nil {
		return err
	}
	problem := snap.err()
	if len(snap.networks) == 0 && problem == nil {
		if only != "" {
			return errors.New(notStored(only, snap))
		}
		_, err := fmt.Fprintln(a.out, "No network is stored.")
		return err
	}
	var differing []string
	for _, n := range snap.networks {
		if n.partial || n.problem != nil {
			continue
		}
		text, differs := a.verdict(snap, n)
		if differs {
			differing = append(differing, n.name)
		}
		if _, err := fmt.Fprintf(a.out, "network %s: %s\n", printable(n.name), text); err != nil {
			return err
		}
	}
	if len(differing) > 0 {
		problem = errors.Join(problem, fmt.Errorf("not as it should be: network %s", strings.Join(differing, ", ")))
	}
	return problem
}

// verdict is what became of comparing a network's forms. It has further lines,
// indented, for the differences.
func (a *app) verdict(snap snapshot, n network) (text string, differs bool) {
	m := n.migration
	switch {
	case m.phase == "":
		return "nothing to compare: it has no phase yet, the next ADD gives it one", false
	case m.phase == engine.Legacy:
		return "nothing to compare: phase legacy, host-local's directory alone is in use", false
	case m.shut:
		return "nothing to compare: phase contract, host-local is shut out", false
	case m.phase == engine.Contract:
		return "no tombstone: " + printable(m.gap.String()), true
	}
	held := counted(a.held(snap, n), "allocation", "allocations")
	switch {
	case len(m.differences) == 0 && m.changed:
		return "equal, " + held + "; the directory was changed since bolt-local's last call", false
	case len(m.differences) == 0:
		return "equal, " + held, false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s between the directory %s (the old form) and the checkpoint (the new form)",
		counted(len(m.differences), "difference", "differences"), printable(m.directory))
	for _, d := range m.differences {
		b.WriteString("\n  " + printable(d))
	}
	switch {
	case m.changed:
		b.WriteString("\n  the directory was changed since bolt-local's last call: the next ADD or DEL takes it over, and mends this")
	case len(m.aside) > 0:
		b.WriteString("\n  the directory is as bolt-local left it: a file that is set aside may be in the way, see `bolt-local status`")
	default:
		b.WriteString("\n  the directory is as bolt-local left it, so no call mends this")
	}
	return b.String(), true
}
