// Package filelock takes the exclusive kernel lock (flock(2)) of a lock file:
// first come first served, in bounded time, and of the file that is on disk
// under that name once the lock is held.
package filelock

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// Options are how a lock file is opened.
type Options struct {
	Create bool        // make the file where it is missing
	Write  bool        // open for writing
	Mode   os.FileMode // of a new file, under the umask
	Exact  bool        // give it Mode whatever the umask, an existing file too
	// Deadline ends the wait. A lock that is free is had after it, too.
	Deadline time.Time
	// Setting is the one that says where the file is, for the text of an error.
	Setting string
}

// Acquire takes the lock of the file at path, which the caller unlocks. Its
// errors wrap ErrLocked past the deadline and fs.ErrNotExist where the file is
// missing and not to be made, or its directory is missing. A link, a pipe or
// any other thing than a regular file is refused.
func Acquire(path string, o Options) (*Lock, error) {
	flags := os.O_RDONLY
	if o.Write {
		flags = os.O_RDWR
	}
	flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK // neither a link nor a pipe
	if o.Create {
		flags |= os.O_CREATE
	}
	for {
		l := &Lock{flock.New(path, flock.SetFlag(flags), flock.SetPermissions(o.Mode))}
		if err := lockBy(l.Flock, o.Deadline); err != nil {
			return nil, explain(path, o.Setting, err)
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
			return nil, explain(path, o.Setting, ErrLocked)
		}
	}
}
