package hostlocal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/fsync"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/filelock"
)

const (
	lockName   = "lock"
	lastPrefix = "last_reserved_ip."
	besideName = ".bolt-local-" // and the network

	// The modes are host-local's own, but for the tombstone's.
	dirMode       = 0o755
	fileMode      = 0o600
	lockMode      = 0o750
	tombstoneMode = 0o644
)

// Dir is one network's directory, or the place where it may be. It is for one
// call.
type Dir struct {
	path    string // <parent>/<network>, absolute
	lock    *filelock.Lock
	missing bool // there was nothing to be locked
}

var _ form.Old = (*Dir)(nil)

// At returns the directory with this path. It does not touch the disk.
func At(path string) *Dir { return &Dir{path: path} }

// Path implements [form.Old].
func (d *Dir) Path() string { return d.path }

func (d *Dir) file(name string) string { return filepath.Join(d.path, name) }

// Lock takes host-local's own lock. A directory that is not there, or shut, has
// none. Reading needs no lock file that is not there: nobody has written. No
// lock file is made where a link leads.
func (d *Dir) Lock(write bool, deadline time.Time) error {
	if isLink(d.path) {
		return errLink(d.path)
	}
	l, err := filelock.Acquire(d.file(lockName), filelock.Options{
		Create: write, Write: write, Mode: lockMode, Deadline: deadline,
	})
	switch {
	case err == nil:
		d.lock, d.missing = l, false
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		d.missing = write // who only reads needs no lock file
		return nil
	}
	return fmt.Errorf("host-local's lock: %w", err)
}

// Unlock gives the lock back.
func (d *Dir) Unlock() {
	if d.lock != nil {
		_ = d.lock.Unlock()
		d.lock = nil
	}
}

// Make makes the directory, opens it where it is shut, and locks it.
func (d *Dir) Make(deadline time.Time) error {
	c, err := d.Look()
	switch {
	case err != nil:
		return err
	case c.Shut != nil:
		return d.openLocked(deadline)
	case !c.Exists:
		if err := makeDir(d.path); err != nil {
			return fmt.Errorf("making host-local's directory: %w", err)
		}
	}
	d.Unlock()
	return d.Lock(true, deadline)
}

// openLocked puts an empty directory in the place of the tombstone. It is locked
// before it has its name, lest host-local finds it empty and gives out what is
// held.
func (d *Dir) openLocked(deadline time.Time) error {
	if _, err := d.Prepare(nil, nil); err != nil {
		return err
	}
	l, err := filelock.Acquire(filepath.Join(d.beside(), lockName), filelock.Options{Write: true, Deadline: deadline})
	if err != nil {
		return fmt.Errorf("host-local's lock: %w", err)
	}
	if err := d.Open(); err != nil {
		return errors.Join(err, l.Unlock())
	}
	d.Unlock()
	d.lock, d.missing = l, false
	return nil
}

// makeDir is os.MkdirAll and durable.
func makeDir(path string) error {
	err := os.Mkdir(path, dirMode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, dirMode)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fsync.Dir(filepath.Dir(path))
}
