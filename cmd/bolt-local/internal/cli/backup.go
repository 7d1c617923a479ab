package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/internal/fsync"
)

func (a *app) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE|- [flags]",
		Short: "Copy the checkpoint while it is in use",
		Long: `Copy the checkpoint, consistently, while it is in use. The file comes whole or
not at all, with mode 0600, and takes the place of one of that name. It may not
be in the data directory, where every file has a meaning.

The copy is a checkpoint itself. "restore" takes it, and "repair --backup". What
is in host-local's directories is not in it. A damaged checkpoint is not copied.`,
		Example: `  bolt-local backup /var/backups/bolt-local.db
  bolt-local backup - | ssh backup.example.com 'cat > node-1.db'`,
	}
	return a.fileCommand(cmd, func(_ *cobra.Command, file string) error {
		if file == "-" {
			return a.backupToStdout()
		}
		return a.backup(file)
	})
}

func (a *app) backup(file string) error {
	if err := a.mayReplace(file); err != nil {
		return err
	}
	dir := filepath.Dir(file)
	c, err := a.copyCheckpoint(dir)
	if err != nil {
		return err
	}
	defer c.remove()
	if err := os.Rename(c.path, file); err != nil {
		return fmt.Errorf("naming the backup: %w", err)
	}
	if err := fsync.Dir(dir); err != nil {
		return fmt.Errorf("%s is written, but may be gone after a power cut: %w", file, err)
	}
	_, err = fmt.Fprintf(a.out, "%s to %s\n", c, wording.Printable(file))
	return err
}

func (a *app) backupToStdout() error {
	if a.out.terminal() {
		return command.UsageError(errors.New("the backup is not for a terminal: name a file, or send it into one or through a pipe"))
	}
	c, err := a.copyCheckpoint("")
	if err != nil {
		return err
	}
	defer c.remove()
	f, err := os.Open(c.path)
	if err != nil {
		return fmt.Errorf("reading the copy: %w", err)
	}
	defer f.Close()
	if _, err := io.Copy(a.out, f); err != nil {
		return fmt.Errorf("writing the backup to stdout: %w", err)
	}
	a.warn(c.String() + " to stdout")
	return nil
}

// mayReplace refuses a file that a backup must not take the place of.
func (a *app) mayReplace(file string) error {
	if inside(a.dataDir, file) {
		return fmt.Errorf("%s is in the data directory, which has files of bolt-local's and host-local's alone: name another place", file)
	}
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file, and is not replaced", file)
	}
	return nil
}

// inside tells whether a file is in dir, or in a directory in it, by whatever
// path it is named.
func inside(dir, file string) bool {
	want, err := os.Stat(dir)
	if err != nil {
		return false
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err == nil {
		parent, err = filepath.Abs(parent)
	}
	for err == nil {
		info, statErr := os.Stat(parent)
		if statErr == nil && os.SameFile(info, want) {
			return true
		}
		if parent == filepath.Dir(parent) {
			break
		}
		parent = filepath.Dir(parent)
	}
	return false
}
