package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

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
		if err := a.restore(f); err != nil {
			return fromStdin{err, tmp}
		}
		return nil
	})
}

// fromStdin is an error that names stdin in the place of the file that it was
// spooled to, which is gone by the time that somebody reads it.
type fromStdin struct {
	error
	spooled string
}

func (e fromStdin) Error() string { return strings.ReplaceAll(e.error.Error(), e.spooled, "stdin") }

func (e fromStdin) Unwrap() error { return e.error }

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
		return a.failedAfter(done, err, f, printRestore)
	}
	r := a.newReport(done, f)
	r.existed = existed
	return a.printReport(r, f.output, printRestore)
}
