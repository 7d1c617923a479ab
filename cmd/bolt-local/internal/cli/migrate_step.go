package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/migrate/engine"
)

func (a *app) advanceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "advance --network NAME [flags]",
		Short: "Take a network one phase forward",
		Long: `Take a network one phase forward: legacy, expand, switch, contract.

The step to contract waits until host-local's directory and the checkpoint say
the same, and until no pod is left that host-local gave its address: a runtime
may have kept the old configuration, and would send its DEL to host-local. These
go with their pods, or at the next boot. --force takes the step although they
are there: a DEL that is sent to host-local then fails.

Where ipam.migration.phase of the network's configuration is not further on, the
step is refused, as the next ADD would undo it: change the configuration.`,
		Example: `  bolt-local migrate advance --network podnet
  bolt-local migrate advance --network podnet --force`,
	}
	network := a.networkFlag(cmd, "the `network`")
	force := cmd.Flags().Bool("force", false, "go to contract although host-local's pods are there")
	return a.command(cmd, func(*cobra.Command) error {
		return a.step(*network, engine.Phase.Next, func() (engine.Step, error) {
			return a.state().Advance(*network, *force)
		})
	})
}

func (a *app) rollbackCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollback --network NAME [flags]",
		Short: "Take a network one phase back",
		Long: `Take a network one phase back: contract, switch, expand, legacy.

From contract, the tombstone gives way to host-local's directory, written anew
from the checkpoint. From then on the type may be changed back to host-local,
with all pods running, and ipam.dataDir with it where "migrate status" says so.
Further steps back are not needed for that.

The steps to expand and to legacy wait while two attachments hold one address,
as the directory can name one of them. In legacy the checkpoint forgets what the
directory does not know: the pods' names, namespaces and times.

Where the configuration of the network's last ADD had an ipam.migration.phase
that is not further back, the step is refused, as the next ADD would undo it:
change the configuration. Once that is done, or the type is host-local's again,
--force takes the step without waiting for an ADD.`,
		Example: `  bolt-local migrate rollback --network podnet
  bolt-local migrate rollback --network podnet --force`,
	}
	network := a.networkFlag(cmd, "the `network`")
	force := cmd.Flags().Bool("force", false, "go back whatever the last ADD's configuration said")
	return a.command(cmd, func(*cobra.Command) error {
		return a.step(*network, engine.Phase.Previous, func() (engine.Step, error) {
			return a.state().Rollback(*network, *force)
		})
	})
}

// step takes one step with take, and asks that it led where next does.
func (a *app) step(network string, next func(engine.Phase) engine.Phase, take func() (engine.Step, error)) error {
	if network == "" {
		return command.UsageError(errors.New("say which --network"))
	}
	step, err := take()
	if err != nil {
		return err
	}
	if want := next(step.From); step.To != want {
		return fmt.Errorf("network %s stays in phase %s until the step to %s can be done (see above)", network, step.To, want)
	}
	if _, err := fmt.Fprintf(a.out, "network %s: %s -> %s\n", network, step.From, step.To); err != nil {
		return fmt.Errorf("the step was taken, but not printed: %w", err)
	}
	return nil
}
