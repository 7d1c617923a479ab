// Package filelock takes the exclusive kernel lock (flock(2)) of a lock file:
// first come first served, in bounded time, and of the file that is on disk
// under that name once the lock is held.
package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// ErrLocked: the lock was not had in time.
var ErrLocked = errors.New("another process holds the lock")

// Options are how a lock file is opened.
type Options struct {
	Create bool        // make the file where it is missing
	Write  bool        // open for writing
	Mode   os.FileMode // of a new file, under the umask
	Exact  bool        // give it Mode whatever the umask, an existing file too
	// Deadline ends the wait. A lock that is free is had after it, too.
	Deadline time.Time
}

// Acquire takes the lock of the file at path, which the caller unlocks. Its
// errors wrap ErrLocked past the deadline and fs.ErrNotExist where the file is
// missing and not to be made, or its directory is missing. A link, a pipe or
// any other thing than a regular file is refused.
func Acquire(path string, o Options) (*flock.Flock, error) {
	flags := os.O_RDONLY
	if o.Write {
		flags = os.O_RDWR
	}
	flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK // neither a link nor a pipe
	if o.Create {
		flags |= os.O_CREATE
	}
	for {
		l := flock.New(path, flock.SetFlag(flags), flock.SetPermissions(o.Mode))
		if err := lockBy(l, o.Deadline); err != nil {
			return nil, explain(path, err)
		}
		// Who removes the directory under a waiter leaves it with the lock of a
		// file that nobody else will ever open.
		held, heldErr := l.Stat()
		now, nowErr := os.Lstat(path)
		if heldErr == nil && !held.Mode().IsRegular() {
			_ = l.Unlock()
			return nil, notRegular(path)
		}
		if heldErr == nil && nowErr == nil && os.SameFile(held, now) {
			if o.Exact && now.Mode().Perm() != o.Mode { // the umask, or a mode too open
				_ = os.Chmod(path, o.Mode)
			}
			return l, nil
		}
		_ = l.Unlock()
		switch {
		case nowErr != nil && !(o.Create && errors.Is(nowErr, fs.ErrNotExist)):
			return nil, nowErr
		case time.Now().After(o.Deadline):
			return nil, explain(path, ErrLocked)
		}
	}
}

// lockBy asks once without waiting and then waits in the kernel, which serves
// waiters in the order they came. A waiter cannot be interrupted: past the
// deadline it is left to a goroutine that gives the lock back at once.
func lockBy(l *flock.Flock, deadline time.Time) error {
	if ok, err := l.TryLock(); ok || err != nil {
		return err
	}
	left := time.Until(deadline)
	if left <= 0 {
		return ErrLocked
	}
	got := make(chan error)
	giveUp := make(chan struct{})
	go func() {
		err := l.Lock()
		select {
		case got <- err:
		case <-giveUp:
			if err == nil {
				_ = l.Unlock()
			}
		}
	}()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case err := <-got:
		return err
	case <-timer.C:
		close(giveUp)
		return ErrLocked
	}
}

func explain(path string, err error) error {
	switch {
	case errors.Is(err, ErrLocked):
		return fmt.Errorf("%w: %s was not free in time; see who holds it (`fuser %s`) and try again", ErrLocked, path, path)
	case errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("the file system of %s gives no locks (%w): put it on a local file system", path, err)
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EISDIR):
		return notRegular(path)
	}
	return fmt.Errorf("locking %s: %w", path, err)
}

func notRegular(path string) error {
	return fmt.Errorf("%s is not a regular file: remove it", path)
}
