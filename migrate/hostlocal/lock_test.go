package hostlocal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/filelock"
)

func soon() time.Time { return time.Now().Add(time.Minute) }

// hostLocalsLock opens a lock file as host-local's library does.
func hostLocalsLock(t *testing.T, path string) (fd int) {
	t.Helper()
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_RDONLY|unix.O_CLOEXEC, 0o750)
	must(t, err)
	t.Cleanup(func() { must(t, unix.Close(fd)) })
	return fd
}

// isFree tells whether host-local would get the lock at once.
func isFree(t *testing.T, path string) bool {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	switch err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err {
	case nil:
		return true
	case unix.EWOULDBLOCK:
		return false
	default:
		t.Fatal(err)
		return false
	}
}

func TestTheLockKeepsHostLocalOut(t *testing.T) {
	for name, write := range map[string]bool{"of a writer": true, "of a reader": false} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, someFiles())
			must(t, d.Lock(write, soon()))
			if isFree(t, d.file(lockName)) {
				t.Error("host-local would get it beside us")
			}
			d.Unlock()
			if !isFree(t, d.file(lockName)) {
				t.Error("it is held after Unlock")
			}
			d.Unlock() // again does nothing
		})
	}
}

func TestHostLocalsLockKeepsUsOut(t *testing.T) {
	for name, write := range map[string]bool{"a writer": true, "a reader": false} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, someFiles())
			fd := hostLocalsLock(t, d.file(lockName))
			must(t, unix.Flock(fd, unix.LOCK_EX))
			for _, wait := range []time.Duration{-time.Hour, 20 * time.Millisecond} {
				err := d.Lock(write, time.Now().Add(wait))
				if !errors.Is(err, filelock.ErrLocked) || !strings.Contains(err.Error(), d.file(lockName)) || !strings.Contains(err.Error(), "host-local's lock") {
					t.Errorf("err = %v", err)
				}
			}
			must(t, unix.Flock(fd, unix.LOCK_UN))
			must(t, d.Lock(write, soon()))
			d.Unlock()
		})
	}
}

func TestWhatHasNoLockIsNotTouchedByLocking(t *testing.T) {
	for name, make := range map[string]func(d *Dir) error{
		"nothing":             func(d *Dir) error { return os.MkdirAll(filepath.Dir(d.path), 0o755) },
		"not even the parent": func(*Dir) error { return nil },
		"a tombstone":         func(d *Dir) error { return d.Shut(tombstone(bootA)) },
		"a parent that is a file": func(d *Dir) error {
			return os.WriteFile(filepath.Dir(d.path), nil, 0o600)
		},
	} {
		for name2, write := range map[string]bool{", to write": true, ", to read": false} {
			t.Run(name+name2, func(t *testing.T) {
				d := newPlace(t)
				must(t, make(d))
				root := filepath.Dir(filepath.Dir(d.path))
				before := tree(t, root)
				must(t, d.Lock(write, soon()))
				d.Unlock()
				if diff := diffTree(before, tree(t, root)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestAReaderNeedsNoLockFile(t *testing.T) {
	d := newDir(t, files{"10.0.0.2": "a\r\neth0"})
	before := tree(t, d.path)
	must(t, d.Lock(false, soon()))
	d.Unlock()
	if diff := diffTree(before, tree(t, d.path)); diff != "" {
		t.Error(diff)
	}
}

func TestAWriterMakesTheLockFile(t *testing.T) {
	for name, c := range map[string]struct {
		umask int
		want  os.FileMode
	}{"as host-local does": {0o022, 0o750}, "under a strict umask": {0o077, 0o700}} {
		t.Run(name, func(t *testing.T) {
			defer unix.Umask(unix.Umask(c.umask))
			d := newDir(t, files{"10.0.0.2": "a\r\neth0"})
			must(t, d.Lock(true, soon()))
			defer d.Unlock()
			info, err := os.Lstat(d.file(lockName))
			must(t, err)
			if info.Mode() != c.want || info.Size() != 0 {
				t.Errorf("mode %v, %d bytes", info.Mode(), info.Size())
			}
			if isFree(t, d.file(lockName)) {
				t.Error("it is not held")
			}
		})
	}
}

// On a read-only file system, or without the right to write, the lock is had
// for reading.
func TestAReaderLocksWhatItMayNotWrite(t *testing.T) {
	for name, protect := range map[string]func(*testing.T, *Dir){
		"without the right": func(t *testing.T, d *Dir) {
			must(t, os.Chmod(d.file(lockName), 0o444))
			must(t, os.Chmod(d.path, 0o555))
			t.Cleanup(func() { must(t, os.Chmod(d.path, 0o755)) })
			asNobody(t, d)
		},
		"on a read-only file system": func(t *testing.T, d *Dir) {
			ownMounts(t)
			readOnly(t, filepath.Dir(d.path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, someFiles())
			protect(t, d)
			if err := d.Lock(true, soon()); err == nil || !strings.Contains(err.Error(), d.file(lockName)) {
				t.Errorf("to write: %v", err)
			}
			must(t, d.Lock(false, soon()))
			if isFree(t, d.file(lockName)) {
				t.Error("it is not held")
			}
			d.Unlock()
		})
	}
}

func TestNoLockFileIsMadeWhereALinkLeads(t *testing.T) {
	d := newPlace(t)
	elsewhere := filepath.Join(filepath.Dir(d.path), "elsewhere")
	writeFiles(t, elsewhere, files{"10.0.0.2": "a\r\neth0"})
	must(t, os.Symlink("elsewhere", d.path))
	for _, write := range []bool{true, false} {
		if err := d.Lock(write, soon()); err == nil || !strings.Contains(err.Error(), d.path+" is a symbolic link") {
			t.Errorf("err = %v", err)
		}
	}
	if got := listing(t, elsewhere); len(got) != 1 {
		t.Errorf("there is now %q", got)
	}
}

func TestALockThatIsNoFileIsRefused(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a directory": func(p string) error { return os.Mkdir(p, 0o755) },
		"a link":      func(p string) error { return os.Symlink("10.0.0.2", p) },
		"a pipe":      func(p string) error { return unix.Mkfifo(p, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, files{"10.0.0.2": "a\r\neth0"})
			must(t, make(d.file(lockName)))
			for _, write := range []bool{true, false} {
				if err := d.Lock(write, soon()); err == nil || !strings.Contains(err.Error(), d.file(lockName)+" is not a regular file") {
					t.Errorf("err = %v", err)
				}
			}
		})
	}
}
