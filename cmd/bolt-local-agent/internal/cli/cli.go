// Package cli is the command line of bolt-local-agent.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/cri"
	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/ipam/netns"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/store"
)

// Main carries out one command and returns the exit status, see package command.
// The first SIGINT or SIGTERM ends it between two writes.
func Main(version string, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second one ends the process
	a := &app{version: version, out: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command.StrictDefaults(root)
	cmd, err := root.ExecuteContextC(ctx)
	return command.Status(cmd, err, stderr, a.warn)
}

// app is what the commands share.
type app struct {
	version     string
	out, stderr io.Writer

	dataDir  string        // --data-dir
	endpoint string        // --runtime-endpoint
	timeout  time.Duration // --timeout
	waited   func(time.Duration)

	// legacyParents are those of the configurations that were read last: tombstones
	// may be there. Metrics are asked for beside the rounds.
	legacyParents atomic.Pointer[[]string]
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "bolt-local-agent",
		Short: "Keeps bolt-local's checkpoint in line with the container runtime",
		Long: `bolt-local-agent asks a node's container runtime (containerd, CRI-O) over CRI v1
which pods run. It records what bolt-local does not know of them, and takes back
what pods have left that the runtime does not know any more.

The plugin works without it.`,
		Version:       a.version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.dataDir, "data-dir", ipam.DefaultDataDir, "bolt-local's data `dir`ectory, as ipam.dataDir has it")
	flags.StringVar(&a.endpoint, "runtime-endpoint", "", "`socket` of the runtime (default as crictl finds it: CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml, containerd's, CRI-O's)")
	flags.DurationVar(&a.timeout, "timeout", 10*time.Second, "longest wait for one answer of the runtime")
	_ = root.MarkPersistentFlagDirname("data-dir")
	root.AddCommand(a.backfillCommand(), a.gcCommand(), a.serveCommand(), a.versionCommand())
	return root
}

// command gives cmd what all commands have.
func (a *app) command(cmd *cobra.Command, run func(ctx context.Context) error) *cobra.Command {
	cmd.Args = cobra.NoArgs
	command.Runs(cmd, func(cmd *cobra.Command) error {
		switch {
		case a.dataDir == "":
			return command.UsageError(errors.New("--data-dir is empty"))
		case a.timeout <= 0:
			return command.UsageError(errors.New("--timeout is not above 0"))
		}
		abs, err := filepath.Abs(a.dataDir)
		if err != nil {
			return err
		}
		a.dataDir = abs
		return run(cmd.Context())
	})
	return cmd
}

// warn prints a line for the operator beside the output.
func (a *app) warn(line string) {
	fmt.Fprintln(a.stderr, "bolt-local-agent: "+wording.Printable(line))
}

// say prints a line of the output.
func (a *app) say(line string) { fmt.Fprintln(a.out, wording.Printable(line)) }

// state is that of the data directory, with what the kernel says of namespaces
// now: it is for one round.
func (a *app) state() migrate.State { return a.stateWithin(store.DefaultLockTimeout) }

func (a *app) stateWithin(lockTimeout time.Duration) migrate.State {
	namespaces := &netns.System{}
	plugin := &ipam.Plugin{Namespaces: namespaces}
	var parents []string
	if known := a.legacyParents.Load(); known != nil {
		parents = *known
	}
	return migrate.State{
		Store:         store.New(a.dataDir, store.Options{LockTimeout: lockTimeout, Writer: a.version, Warn: a.warn, Waited: a.waited}),
		Namespaces:    namespaces,
		Stale:         plugin.Stale,
		Warn:          a.warn,
		LegacyParents: parents,
	}
}

// runtime connects to the container runtime.
func (a *app) runtime() (*cri.Client, error) {
	endpoint, err := cri.Endpoint(a.endpoint)
	if err != nil {
		return nil, err
	}
	return cri.Dial(endpoint, a.timeout)
}
