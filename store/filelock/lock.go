package filelock

import (
	"errors"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

// Lock is one that is held.
type Lock struct{ *flock.Flock }

// unlockTries is how often a lock is given back that the file system does not
// take: while it is not, this very process waits for it in its next call.
const unlockTries = 3

// Unlock gives the lock back.
func (l *Lock) Unlock() error {
	var err error
	for range unlockTries {
		if err = l.Flock.Unlock(); err == nil {
			return nil
		}
	}
	return err
}

// InPlace tells whether the file that is held is still the one on disk under its
// name: its directory may have been replaced. What cannot be looked at is taken to
// be there.
func (l *Lock) InPlace() bool {
	now, err := os.Lstat(l.Path())
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	held, err := l.Stat()
	return err != nil || os.SameFile(held, now)
}
