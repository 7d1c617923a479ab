package store

import (
	"fmt"
	"time"

	"github.com/bolt-local/bolt-local/store/filelock"
)

// lock takes the exclusive lock that whoever opens the checkpoint holds. create
// makes its file where it is missing; without it that is an error that wraps
// fs.ErrNotExist. Who is going to write has to own what is there.
func (s *Store) lock(create, write bool, deadline time.Time) (*filelock.Lock, error) {
	if write {
		if err := s.claim(); err != nil {
			return nil, err
		}
	}
	since := time.Now()
	defer func() { s.opts.Waited(time.Since(since)) }()
	return filelock.Acquire(s.file(LockFile), filelock.Options{
		Create:   create,
		Write:    write,
		Mode:     0o600,
		Exact:    write,
		Deadline: deadline,
		Setting:  "ipam.dataDir",
	})
}

// held is the lock as whoever is going to write has it, or a dry run that needs none.
type held interface {
	Unlock() error
	InPlace() bool
}

type noLock struct{}

func (noLock) Unlock() error { return nil }
func (noLock) InPlace() bool { return true }

// inPlace is asked before anything is written by its name: who was stopped while
// the directory was replaced must not write into the new one, of which others
// have the lock.
func (s *Store) inPlace(l held) error {
	if l == nil || l.InPlace() {
		return nil
	}
	return fmt.Errorf("%w: %s: try again", ErrMoved, s.dir)
}
