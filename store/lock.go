package store

import (
	"time"

	"github.com/gofrs/flock"

	"github.com/bolt-local/bolt-local/store/filelock"
)

// lock takes the exclusive lock that whoever opens the checkpoint holds. create
// makes its file where it is missing; without it that is an error that wraps
// fs.ErrNotExist.
func (s *Store) lock(create, write bool, deadline time.Time) (*flock.Flock, error) {
	return filelock.Acquire(s.file(LockFile), filelock.Options{
		Create:   create,
		Write:    write,
		Mode:     0o600,
		Exact:    write,
		Deadline: deadline,
	})
}
