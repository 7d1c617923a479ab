package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/ipam/netns"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/store"
)

// Main carries out one command and returns the exit status, see package command.
func Main(version string, args []string, stdout, stderr io.Writer) int {
	a := &app{
		version: version,
		out:     newScreen(stdout),
		stderr:  stderr,
		plugin:  &ipam.Plugin{Namespaces: &netns.System{}},
		now:     time.Now,
	}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(os.Stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command.StrictDefaults(root)
	cmd, err := root.ExecuteC()
	return command.Status(cmd, err, stderr, a.warn)
}

// app is what the commands share.
type app struct {
	version string
	out     screen
	stderr  io.Writer
	plugin  *ipam.Plugin // for what it knows of network namespaces
	now     func() time.Time

	dataDir       string   // --data-dir
	hostLocalDirs []string // --host-local-dir, of the commands that have it
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "bolt-local",
		Short: "CNI IPAM plugin for one node",
		Long: `bolt-local is a CNI IPAM plugin for one node. A container runtime calls it with
CNI_COMMAND set; without, it shows and mends what the plugin has stored.`,
		Version:       a.version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringVar(&a.dataDir, "data-dir", ipam.DefaultDataDir, "data `dir`ectory")
	_ = root.MarkPersistentFlagDirname("data-dir")
	root.AddCommand(a.dumpCommand(), a.statusCommand(), a.migrateCommand(), a.gcCommand(), a.releaseCommand(), a.forgetCommand(),
		a.backupCommand(), a.restoreCommand(), a.repairCommand(), a.versionCommand())
	return root
}

// command gives cmd what all commands have.
func (a *app) command(cmd *cobra.Command, run func(*cobra.Command) error) *cobra.Command {
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("unexpected argument %q", args[0])
		}
		return nil
	}
	command.Runs(cmd, func(cmd *cobra.Command) error {
		if a.dataDir == "" {
			return command.UsageError(errors.New("--data-dir is empty"))
		}
		if err := a.absolute(); err != nil {
			return err
		}
		return run(cmd)
	})
	return cmd
}

// absolute makes the directories absolute: they are stored, and shown to be copied.
func (a *app) absolute() error {
	dirs := []*string{&a.dataDir}
	for i := range a.hostLocalDirs {
		dirs = append(dirs, &a.hostLocalDirs[i])
	}
	for _, dir := range dirs {
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return fmt.Errorf("%s: %w", *dir, err)
		}
		*dir = abs
	}
	return nil
}

// argument gives cmd what all commands have, and one argument: missing is the error
// where there is none, and complete completes it.
func (a *app) argument(cmd *cobra.Command, missing string, complete cobra.CompletionFunc, run func(cmd *cobra.Command, arg string) error) *cobra.Command {
	a.command(cmd, func(cmd *cobra.Command) error { return run(cmd, cmd.Flags().Arg(0)) })
	cmd.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 || args[0] == "":
			return errors.New(missing)
		case len(args) > 1:
			return fmt.Errorf("unexpected argument %q", args[1])
		}
		return nil
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, toComplete)
	}
	return cmd
}

// fileCommand is command for one that takes a file, or - for a standard stream.
func (a *app) fileCommand(cmd *cobra.Command, run func(cmd *cobra.Command, file string) error) *cobra.Command {
	files := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.argument(cmd, "say which file, or -", files, run)
}

// warn prints a line for the operator beside the output.
func (a *app) warn(line string) { fmt.Fprintln(a.stderr, "bolt-local: "+line) }

func (a *app) store(lockTimeout time.Duration) *store.Store {
	return store.New(a.dataDir, store.Options{LockTimeout: lockTimeout, Writer: a.version, Warn: a.warn})
}

func (a *app) state() migrate.State {
	return migrate.State{
		Store:         a.store(store.DefaultLockTimeout),
		Namespaces:    a.plugin.Namespaces,
		Stale:         a.plugin.Stale,
		Warn:          a.warn,
		LegacyParents: a.hostLocalDirs,
	}
}
