package hostlocal

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// Shut puts the tombstone in the place of the directory, or of an older
// tombstone, or where nothing is.
func (d *Dir) Shut(n form.Notice) error {
	c, err := d.Look()
	if err != nil {
		return err
	}
	if c.Shut != nil {
		return d.renew(*c.Shut, n)
	}
	parent := filepath.Dir(d.path)
	if err := makeDir(parent); err != nil {
		return fmt.Errorf("making host-local's parent directory: %w", err)
	}
	if err := d.clearBeside(); err != nil {
		return err
	}
	f, err := os.OpenFile(d.beside(), os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("writing the tombstone: %w", err)
	}
	_, err = f.Write(encodeNotice(n))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("writing the tombstone: %w", err), remove(d.beside()))
	}
	failpoint.Hit("hostlocal.before-swap")
	if c.Exists {
		err = d.exchange()
	} else {
		err = os.Rename(d.beside(), d.path)
	}
	if err != nil {
		return errors.Join(err, remove(d.beside()))
	}
	failpoint.Hit("hostlocal.after-swap")
	if err := syncDir(parent); err != nil {
		return fmt.Errorf("syncing %s: %w", parent, err)
	}
	if c.Exists {
		_ = d.clearBeside() // the files of others stay there until the way back
	}
	return nil
}

// renew writes a tombstone anew, in place: it has the same length in each boot.
// A file that is none of ours is left.
func (d *Dir) renew(was, n form.Notice) error {
	if was == n || was == (form.Notice{}) {
		return nil
	}
	f, err := os.OpenFile(d.path, os.O_WRONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("renewing the tombstone: %w", err)
	}
	b := encodeNotice(n)
	_, err = f.WriteAt(b, 0)
	if err := errors.Join(err, f.Truncate(int64(len(b))), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("renewing the tombstone: %w", err)
	}
	return nil
}

// exchange swaps the directory with what stands beside it.
func (d *Dir) exchange() error {
	err := unix.Renameat2(unix.AT_FDCWD, d.beside(), unix.AT_FDCWD, d.path, unix.RENAME_EXCHANGE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.EBUSY), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%w: %s: %w", form.ErrCannotShut, d.path, err)
	}
	return fmt.Errorf("swapping %s and %s: %w", d.path, d.beside(), err)
}

// clearBeside removes what an earlier swap has left beside the directory, but
// never what host-local did not write.
func (d *Dir) clearBeside() error {
	err := remove(d.beside())
	if err == nil {
		return nil
	}
	names, readErr := readNames(d.beside())
	if readErr != nil {
		return fmt.Errorf("clearing %s: %w", d.beside(), err)
	}
	for _, name := range names {
		if isOurs(name) {
			if err := os.Remove(filepath.Join(d.beside(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("clearing %s: %w", d.beside(), err)
			}
		}
	}
	if err := remove(d.beside()); err != nil {
		return fmt.Errorf("%w: %s holds files that are neither host-local's nor ours; move them away: %w", form.ErrCannotShut, d.beside(), err)
	}
	return nil
}

// isOurs tells whether host-local, or we in its place, write files of this name.
func isOurs(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil || name == lockName || strings.HasPrefix(name, lastPrefix)
}

func readNames(dir string) ([]string, error) {
	f, err := os.OpenFile(dir, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// Prepare implements [form.Old]: the directory is made whole beside the
// tombstone. What others had left in the old one comes along.
func (d *Dir) Prepare(entries []form.Entry, last map[int]netip.Addr) (form.Contents, error) {
	fail := func(err error) (form.Contents, error) {
		return form.Contents{}, fmt.Errorf("preparing host-local's directory: %w", err)
	}
	if names, err := readNames(d.beside()); err == nil {
		for _, name := range names {
			if isOurs(name) {
				if err := os.Remove(filepath.Join(d.beside(), name)); err != nil {
					return fail(err)
				}
			}
		}
	} else if err := remove(d.beside()); err != nil {
		return fail(err)
	}
	if err := os.Mkdir(d.beside(), dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(err)
	}
	for _, e := range entries {
		if err := writeSynced(filepath.Join(d.beside(), e.Addr.String()), fileMode, content(e.Holder.Attachment)); err != nil {
			return fail(err)
		}
	}
	if err := writeSynced(filepath.Join(d.beside(), lockName), lockMode, nil); err != nil {
		return fail(err)
	}
	for set, addr := range last {
		if err := writeLast(d.beside(), set, addr); err != nil {
			return fail(err)
		}
	}
	if err := errors.Join(syncDir(d.beside()), syncDir(filepath.Dir(d.path))); err != nil {
		return fail(err)
	}
	failpoint.Hit("hostlocal.prepared")
	c, err := lookAt(d.beside())
	if err != nil {
		return fail(err)
	}
	return c, nil
}

func writeSynced(path string, mode os.FileMode, b []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

// Open implements [form.Old].
func (d *Dir) Open() error {
	c, err := d.Look()
	switch {
	case err != nil:
		return err
	case c.Exists:
		return fmt.Errorf("%w: %s is a directory already", form.ErrTaken, d.path)
	}
	failpoint.Hit("hostlocal.before-open")
	if c.Shut != nil {
		err = d.exchange()
	} else {
		err = os.Rename(d.beside(), d.path)
	}
	if err != nil {
		return err
	}
	failpoint.Hit("hostlocal.opened")
	if err := syncDir(filepath.Dir(d.path)); err != nil {
		return fmt.Errorf("syncing the parent of %s: %w", d.path, err)
	}
	return remove(d.beside()) // the tombstone
}
