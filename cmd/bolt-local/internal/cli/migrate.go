package cli

import (
	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
)

func (a *app) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Move networks from host-local and back",
		Long: `Move a network from host-local's directory to bolt-local's checkpoint, and back,
with its pods running. The move has four phases:

  legacy    Only the directory is read and written, as by host-local itself.
            Back to host-local: change the type, at any moment.
  expand    The directory is read. Both are written, the directory first.
            Back to host-local: change the type, at any moment.
  switch    The checkpoint is read. Both are written, the directory first.
            Back to host-local: change the type, at any moment.
  contract  Only the checkpoint is read and written. A file stands in the place
            of the directory, the tombstone, on which host-local fails.
            Back to host-local: first "migrate rollback", then change the type.

Before the type is changed back: host-local reads ipam.dataDir, and not
ipam.migration.hostLocalDir. DIRECTORY in "migrate status" must be
<ipam.dataDir>/<network>, or /var/lib/cni/networks/<network> without dataDir.
Where it is not, set dataDir to its parent in the same edit as the type; else
host-local starts empty and gives every address out again. It ignores
ipam.exclude, too: narrow the ranges instead.

In each phase but contract, what host-local does meanwhile is taken over by the
next call. A network with a directory enters at switch, one without at contract.
ipam.migration.phase in the configuration names another target, towards which
each ADD takes one step. By hand, each command takes one step.`,
		DisableFlagsInUseLine: true,
	}
	command.Group(cmd)
	cmd.AddCommand(a.migrateStatusCommand(), a.advanceCommand(), a.rollbackCommand(), a.verifyCommand())
	return cmd
}
