package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/migrate"
)

func (a *app) forgetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forget NETWORK [flags]",
		Short: "Forget a network that is not used any more",
		Long: `Forget a network that is not used any more, such as one that was renamed: all
that the checkpoint has of it, the allocations of previous boots included, and
the tombstone in the place of host-local's directory. A directory is host-local's
own, and stays.

It is refused while an address of the network is held in this boot, and before
phase contract where host-local's directory has files for addresses: the error
says what to do. In phase legacy the directory has all there is, and nothing is
lost.

Take the network out of the configuration first. An ADD in it makes it anew, as
its first one has.`,
		Example: `  bolt-local forget oldnet --dry-run
  bolt-local forget oldnet`,
	}
	dryRun := cmd.Flags().Bool("dry-run", false, "say what would be forgotten, and change nothing")
	network := a.networkFlag(cmd, "the `network`, instead of the argument")
	a.argument(cmd, "say which network", a.completeNetworks, func(_ *cobra.Command, arg string) error {
		return a.forget(cmp.Or(*network, arg), *dryRun)
	})
	one := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case *network == "":
			return one(cmd, args)
		case len(args) > 0:
			return fmt.Errorf("unexpected argument %q beside --network", args[0])
		}
		return nil
	}
	return cmd
}

func (a *app) forget(network string, dryRun bool) error {
	f, err := a.state().Forget(network, dryRun)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(a.out, wording.Printable(forgottenText(network, f, dryRun))); err != nil {
		return fmt.Errorf("it is done, but not printed: %w", err)
	}
	return nil
}

// forgottenText tells what is gone, or would be.
func forgottenText(network string, f migrate.Forgotten, dryRun bool) string {
	text := "Forgot network " + network
	if dryRun {
		text = "Would forget network " + network
	}
	if f.PreviousBoot > 0 {
		text += ", with " + wording.Counted(f.PreviousBoot, "allocation", "allocations") + " of a previous boot"
	}
	if f.Tombstone != "" {
		text += "; the tombstone " + f.Tombstone
		if dryRun {
			text += " would be removed"
		} else {
			text += " is removed"
		}
	}
	return text + "."
}
