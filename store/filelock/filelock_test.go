package filelock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/filelock/locktest"
)

func soon() time.Time { return time.Now().Add(time.Minute) }

// lockFile is a new lock file, which is free.
func lockFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func isFree(t *testing.T, path string) bool {
	t.Helper()
	l := flock.New(path)
	free, err := l.TryLock()
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Unlock()
	return free
}

func TestALockIsHeldUntilItIsUnlocked(t *testing.T) {
	for name, o := range map[string]Options{
		"to write": {Write: true},
		"to read":  {},
		"anew":     {Write: true, Create: true, Mode: 0o600},
	} {
		t.Run(name, func(t *testing.T) {
			path := lockFile(t)
			o.Deadline = soon()
			l, err := Acquire(path, o)
			if err != nil {
				t.Fatal(err)
			}
			if isFree(t, path) {
				t.Error("it is free while it is held")
			}
			if err := l.Unlock(); err != nil {
				t.Fatal(err)
			}
			if !isFree(t, path) {
				t.Error("it is held after it was unlocked")
			}
		})
	}
}

func TestWhetherWhatIsHeldIsStillInPlace(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(dir string) error
		want      bool
	}{
		"nothing":                  {func(string) error { return nil }, true},
		"its directory is gone":    {os.RemoveAll, false},
		"its directory is another": {anotherDir, false},
		"it is another":            {func(dir string) error { return replaceFile(filepath.Join(dir, "lock")) }, false},
		"it cannot be looked at":   {loopOfLinks, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := lockFile(t)
			l, err := Acquire(path, Options{Write: true, Deadline: soon()})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Unlock()
			if err := c.meanwhile(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
			if got := l.InPlace(); got != c.want {
				t.Errorf("in place: %v", got)
			}
		})
	}
}

// anotherDir moves a directory away, and makes one like it.
func anotherDir(dir string) error {
	if err := os.Rename(dir, dir+"-away"); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600)
}

// loopOfLinks stands in a directory's place: to look behind it is an error, for root
// as well.
func loopOfLinks(dir string) error {
	if err := os.Rename(dir, dir+"-away"); err != nil {
		return err
	}
	return os.Symlink(dir, dir)
}

// replaceFile puts another file in the place of one.
func replaceFile(path string) error {
	if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func TestAFreeLockIsHadPastTheDeadline(t *testing.T) {
	l, err := Acquire(lockFile(t), Options{Deadline: time.Now().Add(-time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Unlock()
}

func TestAHeldLockIsGivenUpAtTheDeadline(t *testing.T) {
	for name, wait := range map[string]time.Duration{"after a wait": 20 * time.Millisecond, "at once": -time.Second} {
		t.Run(name, func(t *testing.T) {
			path := lockFile(t)
			other := flock.New(path)
			if err := other.Lock(); err != nil {
				t.Fatal(err)
			}
			_, err := Acquire(path, Options{Deadline: time.Now().Add(wait)})
			if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
				t.Errorf("err = %v", err)
			}
			if err := other.Unlock(); err != nil {
				t.Fatal(err)
			}
			l, err := Acquire(path, Options{Deadline: soon()}) // whoever gave up has not kept it
			if err != nil {
				t.Fatal(err)
			}
			_ = l.Unlock()
		})
	}
}

func TestAFileThatIsReplacedUnderAWaiterIsLockedAgain(t *testing.T) {
	path := lockFile(t)
	var released atomic.Bool
	done := make(chan error, 1)
	unlockOld := locktest.HoldUntilWaiting(t, path, func() {
		go func() {
			l, err := Acquire(path, Options{Create: true, Write: true, Mode: 0o600, Deadline: soon()})
			if err == nil {
				_ = l.Unlock()
			}
			if err == nil && !released.Load() {
				err = errors.New("it is had while another holds the lock that is on disk")
			}
			done <- err
		}()
	}, done)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	unlockNew := locktest.HoldUntilWaiting(t, path, unlockOld, done)
	released.Store(true)
	unlockNew()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + ".away"} {
		if !isFree(t, p) {
			t.Errorf("the lock on %s is kept", p)
		}
	}
}

func TestAFileThatIsRemovedUnderAWaiter(t *testing.T) {
	for name, create := range map[string]bool{"is made again": true, "is missing": false} {
		t.Run(name, func(t *testing.T) {
			path := lockFile(t)
			done := make(chan error, 1)
			unlock := locktest.HoldUntilWaiting(t, path, func() {
				go func() {
					l, err := Acquire(path, Options{Create: create, Mode: 0o600, Deadline: soon()})
					if err == nil {
						_ = l.Unlock()
					}
					done <- err
				}()
			}, done)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			unlock()
			err := <-done
			if create && err != nil || !create && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("err = %v", err)
			}
			if _, err := os.Stat(path); (err == nil) != create {
				t.Errorf("the file: %v", err)
			}
		})
	}
}

// mkNull makes the device of /dev/null.
func mkNull(path string) error {
	return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3)))
}

func TestWhatIsNoLockFileIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		make func(path string) error
		path string // below what make makes
		o    Options
		want error
		word string
	}{
		"a missing file":                     {make: func(string) error { return nil }, want: fs.ErrNotExist},
		"a missing directory":                {make: func(string) error { return nil }, path: "lock", o: Options{Create: true}, want: fs.ErrNotExist},
		"a file in the place of a directory": {make: func(p string) error { return os.WriteFile(p, nil, 0o600) }, path: "lock", o: Options{Create: true}, want: unix.ENOTDIR},
		"a directory":                        {make: func(p string) error { return os.Mkdir(p, 0o700) }, o: Options{Write: true}, word: "not a regular file"},
		"a directory, to read":               {make: func(p string) error { return os.Mkdir(p, 0o700) }, word: "not a regular file"},
		"a link":                             {make: func(p string) error { return os.Symlink("/etc/passwd", p) }, word: "not a regular file"},
		"a pipe":                             {make: func(p string) error { return syscall.Mkfifo(p, 0o600) }, word: "not a regular file"},
		"a pipe, to write":                   {make: func(p string) error { return syscall.Mkfifo(p, 0o600) }, o: Options{Write: true}, word: "not a regular file"},
		"a socket":                           {make: func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o600, 0) }, o: Options{Write: true}, word: "not a regular file"},
		"a device":                           {make: mkNull, word: "not a regular file"},
		"a device, to write":                 {make: mkNull, o: Options{Write: true}, word: "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			made := filepath.Join(t.TempDir(), "x")
			if err := c.make(made); errors.Is(err, unix.EPERM) {
				t.Skip("making a device takes root")
			} else if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(made, c.path)
			c.o.Deadline, c.o.Mode = soon(), 0o600
			_, err := Acquire(path, c.o)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.word) || !strings.Contains(err.Error(), path) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestTheModeOfALockFile(t *testing.T) {
	for name, c := range map[string]struct {
		before os.FileMode // 0: there is none
		o      Options
		want   os.FileMode
	}{
		"a new one under the umask":      {0, Options{Create: true, Mode: 0o777}, 0o750},
		"a new one, exact":               {0, Options{Create: true, Mode: 0o666, Exact: true}, 0o666},
		"an old one keeps its own":       {0o644, Options{Create: true, Write: true, Mode: 0o750}, 0o644},
		"an old one, exact":              {0o644, Options{Write: true, Mode: 0o600, Exact: true}, 0o600},
		"an old one that is read, exact": {0o640, Options{Mode: 0o600, Exact: true}, 0o600},
	} {
		t.Run(name, func(t *testing.T) {
			defer syscall.Umask(syscall.Umask(0o027))
			path := filepath.Join(t.TempDir(), "lock")
			if c.before != 0 {
				if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, c.before)); err != nil {
					t.Fatal(err)
				}
			}
			c.o.Deadline = soon()
			l, err := Acquire(path, c.o)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Unlock()
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != c.want {
				t.Errorf("mode %v, %v, want %v", info.Mode().Perm(), err, c.want)
			}
		})
	}
}

func TestOneHoldsItAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var inside, overlaps atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			l, err := Acquire(path, Options{Create: true, Write: true, Mode: 0o600, Deadline: soon()})
			if err != nil {
				t.Error(err)
				return
			}
			if inside.Add(1) != 1 {
				overlaps.Add(1)
			}
			inside.Add(-1)
			_ = l.Unlock()
		})
	}
	wg.Wait()
	if n := overlaps.Load(); n != 0 {
		t.Errorf("%d held it beside another", n)
	}
}
