package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func (a *app) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE|- [flags]",
		Short: "Bring a backup back",
		Long: `Put a file that "backup" has written in the place of the checkpoint, without
forgetting what this boot knows: what is held now stays held. What the backup
has of this boot comes back where its network namespace is still there, and the
report lists what does not. The checkpoint that was in use is kept.

Where the checkpoint in use is damaged, this is "repair" with the backup as one
more source. Where there is none, and the backup is of this boot, nobody knows
what came after it, and ADD is refused until the next boot. If every pod of the
node is in the backup, --accept lets ADD go on at once. If one is missing and
you accept, its address is given to another pod as well.

A backup that only a newer version may write is refused.`,
		Example: `  bolt-local restore /var/backups/bolt-local.db --dry-run
  bolt-local restore /var/backups/bolt-local.db
  ssh backup.example.com cat node-1.db | bolt-local restore -`,
	}
	var f repairFlags
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "say what would be done, and change nothing")
	acceptFlag(cmd, &f)
	cacheDirFlag(cmd, &f.cacheDirs)
	a.hostLocalDirFlag(cmd)
	form := outputFlag(cmd, outputText, outputJSON)
	return a.fileCommand(cmd, func(cmd *cobra.Command, file string) error {
		f.output, f.restored = form.value, file
		if file != "-" {
			f.Backup = file
			return a.restore(f)
		}
		tmp, err := spool(cmd.InOrStdin())
		if err != nil {
			return fmt.Errorf("reading the backup from stdin: %w", err)
		}
		defer os.Remove(tmp)
		f.Backup = tmp
		return a.restore(f)
	})
}

// spool writes what it reads to a file of its own, mode 0600, and returns its
// name.
func spool(from io.Reader) (name string, err error) {
	f, err := os.CreateTemp("", "bolt-local-restore-")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

func (a *app) restore(f repairFlags) error {
	existed := a.store(0).Exists()
	done, err := a.state().Restore(f.Repair, caches(f.cacheDirs))
	if err != nil {
		return err
	}
	r := a.newReport(done, f)
	r.existed = existed
	return a.printReport(r, f.output, printRestore)
}
