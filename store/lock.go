package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// acquire takes the lock file's exclusive lock, first come first served, by
// deadline at the latest. create makes the file where it is missing; without
// it a missing file is an error that wraps fs.ErrNotExist.
func acquire(path string, create, write bool, deadline time.Time) (*flock.Flock, error) {
	flags := os.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK // neither a link nor a pipe
	if write {
		flags = os.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK
	}
	if create {
		flags |= os.O_CREATE
	}
	for {
		l := flock.New(path, flock.SetFlag(flags), flock.SetPermissions(0o600))
		if err := lockBy(l, deadline); err != nil {
			return nil, lockError(path, err)
		}
		// Who removes the data directory under a waiter leaves it with the lock
		// of a file that nobody else will ever open.
		held, heldErr := l.Stat()
		now, nowErr := os.Lstat(path)
		if heldErr == nil && !held.Mode().IsRegular() {
			_ = l.Unlock()
			return nil, notRegular(path)
		}
		if heldErr == nil && nowErr == nil && os.SameFile(held, now) {
			if write && now.Mode().Perm() != 0o600 { // the umask, or a mode too open
				_ = os.Chmod(path, 0o600)
			}
			return l, nil
		}
		_ = l.Unlock()
		switch {
		case nowErr != nil && !(create && errors.Is(nowErr, fs.ErrNotExist)):
			return nil, nowErr
		case time.Now().After(deadline):
			return nil, lockError(path, ErrLocked)
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

func lockError(path string, err error) error {
	switch {
	case errors.Is(err, ErrLocked):
		return fmt.Errorf("%w: %s was not free in time; see who holds it (`fuser %s`) and try again", ErrLocked, path, path)
	case errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("the file system of %s gives no locks (%w): put ipam.dataDir on a local file system", path, err)
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EISDIR):
		return notRegular(path)
	}
	return fmt.Errorf("locking %s: %w", path, err)
}
