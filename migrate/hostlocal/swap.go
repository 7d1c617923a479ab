package hostlocal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/internal/fsync"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// Shut puts the tombstone in the place of the directory, or of an older
// tombstone, or where nothing is.
func (d *Dir) Shut(t form.Tombstone) error {
	c, err := d.Look()
	if err != nil {
		return err
	}
	switch {
	case c.Shut != nil:
		err = d.renew(*c.Shut, t)
	case c.Exists && d.missing: // and what is in it was not looked at
		err = fmt.Errorf("%s was made a moment ago: the next call looks at what is in it", d.path)
	case c.Exists:
		err = d.swapIn(t)
	default:
		err = d.putTombstone(t)
	}
	if err != nil {
		return err
	}
	_ = d.clearBeside() // the files of others stay there until the way back
	return nil
}

// swapIn puts the tombstone in the place of the directory.
func (d *Dir) swapIn(t form.Tombstone) error {
	if err := d.holdsNetworks(); err != nil {
		return err
	}
	if err := d.clearBeside(); err != nil {
		return err
	}
	if err := writeNew(d.beside(), tombstoneMode, encodeTombstone(t)); err != nil {
		return errors.Join(fmt.Errorf("writing the tombstone: %w", err), remove(d.beside()))
	}
	failpoint.Hit("hostlocal.before-swap")
	if err := d.exchange(); err != nil {
		return errors.Join(err, remove(d.beside()))
	}
	failpoint.Hit("hostlocal.after-swap")
	return d.syncSwap()
}

// holdsNetworks tells of a directory in the directory that has a lock in it, as
// those of other networks and of checkpoints: it would be moved away.
func (d *Dir) holdsNetworks() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if _, err := os.Lstat(d.file(filepath.Join(e.Name(), lockName))); err == nil {
			return fmt.Errorf("%w: %s holds %s, which another network or a checkpoint is in: keep that elsewhere", form.ErrCannotShut, d.path, e.Name())
		}
	}
	return nil
}

// putTombstone writes the tombstone where nothing is, and where by now nobody has
// made a directory.
func (d *Dir) putTombstone(t form.Tombstone) error {
	if err := makeDir(filepath.Dir(d.path)); err != nil {
		return fmt.Errorf("making host-local's parent directory: %w", err)
	}
	if _, err := d.write(d.path, tombstoneMode, encodeTombstone(t), false); err != nil {
		return fmt.Errorf("writing the tombstone: %w", err)
	}
	failpoint.Hit("hostlocal.after-swap")
	return d.syncSwap()
}

// syncSwap makes a swap durable that was done.
func (d *Dir) syncSwap() error {
	if err := fsync.Dir(filepath.Dir(d.path)); err != nil {
		return fmt.Errorf("%s: %w: %w", d.path, form.ErrUnsynced, err)
	}
	return nil
}

// renew writes a tombstone anew, in place: it has the same length in each boot.
// A file that is none of ours is left.
func (d *Dir) renew(was, t form.Tombstone) error {
	if was == t || was == (form.Tombstone{}) {
		return nil
	}
	f, err := os.OpenFile(d.path, os.O_WRONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("renewing the tombstone: %w", err)
	}
	b := encodeTombstone(t)
	_, err = f.WriteAt(b, 0)
	if err := errors.Join(err, f.Truncate(int64(len(b))), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("renewing the tombstone: %w", err)
	}
	return nil
}

// exchangeNames swaps two names in one step. Tests replace it by a file system
// that cannot.
var exchangeNames = func(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// exchange swaps the directory with what stands beside it.
func (d *Dir) exchange() error {
	err := exchangeNames(d.beside(), d.path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.EBUSY), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%w: %s: %w", form.ErrCannotShut, d.path, err)
	}
	return fmt.Errorf("swapping %s and %s: %w", d.path, d.beside(), err)
}

// Sync implements [form.Old], and tidies up after a swap that was cut.
func (d *Dir) Sync() error {
	if err := fsync.Dir(d.path); err != nil && !errors.Is(err, unix.ENOENT) {
		return err // a tombstone, too: it is opened like a directory
	}
	if err := fsync.Dir(filepath.Dir(d.path)); err != nil {
		return err
	}
	_ = d.clearBeside() // the files of others stay there
	return nil
}
