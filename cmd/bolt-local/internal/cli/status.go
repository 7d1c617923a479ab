package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
)

func (a *app) statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [flags]",
		Short: "Show how full the ranges are, and what needs attention",
		Long: `Show for each network and range set how many addresses there are, how many are
held and free, where the move from host-local stands (see migrate --help), and
what needs attention.

The ranges are those of the network's last ADD; one that failed counts where it
found no address free. Allocations of a previous boot count as free. UNPROVEN
are allocations that were imported from host-local or from a cache, and that no
ADD of bolt-local has made since. Former damage is told until
"repair --acknowledge". The exit status is 0 also where something needs
attention, such as a disk that cannot be written, and 1 where the checkpoint
cannot be believed, or host-local's directory cannot be read.

The metrics begin with bolt_local_up, which is 0, and alone, where nothing could
be read.`,
		Example: `  bolt-local status
  bolt-local status --output json | jq '.attention'
  cd /var/lib/node_exporter &&
    { bolt-local status --output prometheus > bolt_local.new
      test -s bolt_local.new && mv bolt_local.new bolt_local.prom; }`,
	}
	only := a.networkFlag(cmd, "show this `network` alone")
	a.hostLocalDirFlag(cmd)
	form := outputFlag(cmd, outputTable, outputJSON, outputPrometheus)
	return a.command(cmd, func(*cobra.Command) error { return a.status(*only, form.value) })
}

func (a *app) status(only, form string) error {
	snap, err := a.reader().LoadVerified(only)
	if err == nil {
		err = a.unstored(only, snap)
	}
	if err != nil {
		if form == outputPrometheus { // whose reader cannot see the exit status
			err = errors.Join(err, printMetrics(a.out, []nodestatus.Family{nodestatus.Up(false)}))
		}
		return err
	}
	st := nodestatus.New(snap, a.plugin)
	if err := a.printStatus(st, form); err != nil {
		return err
	}
	if st.NamespacesUnsure != "" {
		a.warn(st.NamespacesUnsure)
	}
	return snap.Err()
}

func (a *app) printStatus(st nodestatus.Status, form string) error {
	switch form {
	case outputJSON:
		return printJSON(a.out, st)
	case outputPrometheus:
		return printMetrics(a.out, append([]nodestatus.Family{nodestatus.Up(true)}, st.Metrics()...))
	}
	return printStatusText(a.out, st)
}
