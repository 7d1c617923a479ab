package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/internal/cmdline"
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
by itself: then the directory was changed since bolt-local's last call. So it is
where there is no checkpoint.`,
		Example: `  bolt-local migrate verify
  bolt-local migrate verify --network podnet`,
	}
	only := a.networkFlag(cmd, "compare this `network` alone")
	return a.command(cmd, func(*cobra.Command) error { return a.verify(*only) })
}

func (a *app) verify(only string) error {
	snap, err := a.reader().LoadCompared(only)
	if err != nil {
		return err
	}
	if err := a.unstored(only, snap); err != nil {
		return err
	}
	if absent(snap) {
		return errors.New(wording.NoCheckpoint(a.dataDir))
	}
	problem := snap.Err()
	if len(snap.Networks) == 0 && problem == nil {
		_, err := fmt.Fprintln(a.out, "No network is stored.")
		return err
	}
	var differing []string
	for _, n := range snap.Networks {
		if n.Partial || n.Problem != nil {
			continue
		}
		text, differs := a.verdict(snap, n)
		if differs {
			differing = append(differing, n.Name)
		}
		if back := n.Migration.GoingBack(); back != "" {
			text += "\n  " + wording.Printable(back)
		}
		if _, err := fmt.Fprintf(a.out, "network %s: %s\n", wording.Printable(n.Name), text); err != nil {
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
func (a *app) verdict(snap nodestatus.Snapshot, n nodestatus.Network) (text string, differs bool) {
	m := n.Migration
	switch {
	case m.Phase == "":
		return "nothing to compare: it has no phase yet, the next ADD gives it one", false
	case m.Phase == engine.Legacy:
		return "nothing to compare: phase legacy, host-local's directory alone is in use", false
	case m.Shut:
		return "nothing to compare: phase contract, host-local is shut out", false
	case m.Phase == engine.Contract:
		return "no tombstone: " + wording.Printable(m.Gap), true
	}
	held := wording.Counted(a.held(snap, n), "allocation", "allocations")
	switch {
	case len(m.Differences) == 0 && m.Changed:
		return "equal, " + held + "; the directory was changed since bolt-local's last call", false
	case len(m.Differences) == 0:
		return "equal, " + held, false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s between the directory %s (the old form) and the checkpoint (the new form)",
		wording.Counted(len(m.Differences), "difference", "differences"), wording.Printable(m.Directory))
	for _, d := range m.Differences {
		b.WriteString("\n  " + wording.Printable(d))
	}
	switch {
	case m.Changed:
		b.WriteString("\n  the directory was changed since bolt-local's last call: the next ADD or DEL takes it over, and mends this")
	case len(m.Aside) > 0:
		b.WriteString("\n  the directory is as bolt-local left it: a file that is set aside may be in the way, see `" + cmdline.Command(a.dataDir, "status") + "`")
	default:
		b.WriteString("\n  the directory is as bolt-local left it, so no call mends this")
	}
	return b.String(), true
}
