package store

import (
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
