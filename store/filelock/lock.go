package filelock

import "github.com/gofrs/flock"

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
