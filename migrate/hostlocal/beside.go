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

	"github.com/bolt-local/bolt-local/migrate/form"
)

// beside is where a directory or a tombstone is made ready. No network has such
// a name, for it begins with a dot.
func (d *Dir) beside() string {
	return filepath.Join(filepath.Dir(d.path), besideName+filepath.Base(d.path))
}

// clearBeside removes what an earlier step has left beside the directory, but
// never what host-local did not write: the error wraps form.ErrCannotShut where
// such files are in the way.
func (d *Dir) clearBeside() error {
	err := remove(d.beside())
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		if err = d.clearOurs(); err == nil && remove(d.beside()) != nil {
			return fmt.Errorf("%w: %s holds files that are neither host-local's nor ours: move them away", form.ErrCannotShut, d.beside())
		}
	}
	if err != nil {
		return fmt.Errorf("clearing the way: %w", err)
	}
	return nil
}

// clearOurs removes the files of host-local, and ours in its place, from the
// directory that stands beside. The error wraps unix.ENOTDIR where it is none.
func (d *Dir) clearOurs() error {
	dir, err := os.OpenFile(d.beside(), unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !isOurs(int(dir.Fd()), name) {
			continue
		}
		if err := unix.Unlinkat(int(dir.Fd()), name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s: %w", filepath.Join(d.beside(), name), err)
		}
	}
	return nil
}

// isOurs tells whether it is a file as host-local, and we in its place, write
// them.
func isOurs(dir int, name string) bool {
	addr, err := netip.ParseAddr(name)
	if !(err == nil && canonical(addr, name)) && name != lockName && !strings.HasPrefix(name, lastPrefix) {
		return false
	}
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && isRegular(&st)
}

// writeNew makes a file that is not there yet, synced and with this mode whatever
// the umask. It is for the name beside and what is below: a crash leaves part.
func writeNew(path string, mode os.FileMode, b []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

// remove removes a file or an empty directory, which need not be there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
