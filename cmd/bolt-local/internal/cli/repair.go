package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/store"
)

// repairFlags are those of repair and, as far as they apply, of restore.
type repairFlags struct {
	store.Repair
	restored    string // restore's argument
	acknowledge bool
	cacheDirs   []string
	output      string
}

func (a *app) repairCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair [flags]",
		Short: "Rebuild a damaged checkpoint from all there is",
		Long: `Rebuild a damaged checkpoint from all there is: the journal, what can be read of
the file, a backup, host-local's directories, and libcni's cache of results. The
damaged file is kept, and the report says what vouched for each address. Where
nothing is damaged, nothing is changed.

Unless one of these had everything, addresses of living pods may be missing, and
ADD is refused until the next boot. Look at the report. If every pod of the node
is in it, --accept lets ADD go on at once. If one is missing and you accept, its
address is given to another pod as well, and neither can be reached reliably.

--acknowledge makes "status" forget former damage, this repair included. Nothing
else changes: what is lost stays lost, and refused stays refused. But nobody is
told any more that something was wrong, nor which files were kept: remove them
once nobody needs them.

A network whose configuration names another ipam.migration.hostLocalDir needs
--host-local-dir where nothing of it can be read in the checkpoint: there its
tombstone is looked for. One before phase contract has none: where nothing of it
can be read it is not found, and its next ADD takes host-local's directory over.`,
		Example: `  bolt-local repair --dry-run
  bolt-local repair --backup /var/backups/bolt-local.db
  bolt-local repair --accept --acknowledge`,
	}
	var f repairFlags
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "say what would be done, and change nothing")
	acceptFlag(cmd, &f)
	cmd.Flags().BoolVar(&f.acknowledge, "acknowledge", false, "let status forget former damage")
	cmd.Flags().StringVar(&f.Backup, "backup", "", "a `file` that backup has written, as one more source")
	cacheDirFlag(cmd, &f.cacheDirs)
	a.hostLocalDirFlag(cmd)
	form := outputFlag(cmd, outputText, outputJSON)
	return a.command(cmd, func(*cobra.Command) error {
		f.output = form.value
		return a.repair(f)
	})
}

func acceptFlag(cmd *cobra.Command, f *repairFlags) {
	cmd.Flags().BoolVar(&f.Accept, "accept", false, "what is found is all there is: let ADD go on")
}

func (a *app) repair(f repairFlags) error {
	f.Again = len(f.cacheDirs)+len(a.hostLocalDirs) > 0
	if f.Backup != "" { // of which a checkpoint that is sound needs nothing
		if _, err := os.Stat(f.Backup); err != nil {
			return fmt.Errorf("%w: %w", store.ErrBackup, err)
		}
	}
	done, err := a.state().Repair(f.Repair, caches(f.cacheDirs))
	if errors.Is(err, store.ErrNoCheckpoint) {
		err = fmt.Errorf("%w; where ipam.migration.hostLocalDir is set, name it with --host-local-dir", err)
	}
	if err != nil {
		return a.failedAfter(done, err, f, printRepair)
	}
	r := a.newReport(done, f)
	if f.acknowledge {
		r.Acknowledged, err = a.acknowledge(f.DryRun)
	}
	return errors.Join(err, a.printReport(r, f.output, printRepair))
}

// failedAfter reports what was done before a repair or restore failed: the file
// that was kept has another name by then.
func (a *app) failedAfter(done store.Report, failed error, f repairFlags, text func(screen, report) error) error {
	if done.Kept == "" {
		return failed
	}
	f.Accept = false // which is the last step
	r := a.newReport(done, f)
	r.existed = true
	return errors.Join(failed, a.printReport(r, f.output, text))
}

// acknowledge makes `status` forget former damage, and returns what that was.
func (a *app) acknowledge(dryRun bool) ([]nodestatus.FormerDamage, error) {
	st := a.store(store.DefaultLockTimeout)
	var dropped []nodestatus.FormerDamage
	collect := func(tx *store.Tx) error {
		dropped = nodestatus.FormerDamages(tx.Damages(), a.dataDir)
		return nil
	}
	var err error
	if dryRun {
		err = st.ReadAny(false, collect)
	} else {
		err = st.Update(store.Op{Verb: "repair"}, func(tx *store.Tx) error {
			return errors.Join(collect(tx), tx.Acknowledge())
		})
	}
	if err != nil {
		return nil, fmt.Errorf("former damage is not acknowledged: %w", err)
	}
	return dropped, nil
}
