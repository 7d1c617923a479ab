package store

import (
	"errors"
	"io/fs"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Read calls fn once with a consistent view, under the lock: fn copies what it
// needs and returns. It writes nothing and works on a read-only file system.
// Its errors wrap ErrDamaged, ErrFormat or ErrLocked where they apply.
func (s *Store) Read(fn func(*Tx) error) error { return s.read(false, believed(fn)) }

// ReadWhole is Read for whoever wants to know whether all is well: it looks at
// all pages and holds the content against the invariants.
func (s *Store) ReadWhole(fn func(*Tx) error) error {
	return s.read(true, believed(fn))
}

// ReadAny is Read for whoever wants to see what can be seen: of a checkpoint
// that this version must not write, or that should not be believed, it gives
// a transaction with a Problem. With whole that is also all that Verify finds.
func (s *Store) ReadAny(whole bool, fn func(*Tx) error) error { return s.read(whole, fn) }

// believed keeps fn from a transaction that has a problem.
func believed(fn func(*Tx) error) func(*Tx) error {
	return func(t *Tx) error {
		if t.problem != nil {
			return t.problem
		}
		return fn(t)
	}
}

func (s *Store) read(whole bool, fn func(*Tx) error) error {
	v := viewing{bootID: s.opts.BootID(), deadline: time.Now().Add(s.opts.LockTimeout), whole: whole}
	for range 2 { // a lock file that is made while this looks is there the second time
		l, err := s.lock(false, false, v.deadline)
		switch {
		case err == nil:
			defer l.Unlock()
			return s.view(v, fn)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		done, err := s.viewUnlocked(v, fn)
		if done {
			return err
		}
	}
	return s.view(v, fn)
}

// viewUnlocked is view where there is no lock file: nobody writes, unless somebody
// has made one by the time that something was read. Then that counts for nothing,
// and done is false.
func (s *Store) viewUnlocked(v viewing, fn func(*Tx) error) (done bool, err error) {
	locked := func() bool { return exists(s.file(LockFile)) }
	err = s.view(v, func(t *Tx) error {
		if locked() {
			return nil
		}
		done = true
		return fn(t)
	})
	return done || !locked(), err
}

// viewing is how the checkpoint is opened for reading.
type viewing struct {
	bootID   string
	deadline time.Time
	readOnly error // what a write gets, ErrReadOnly where nil
	whole    bool  // look at all pages, however many, and verify the content
}

// view opens the checkpoint for reading. The caller holds the lock, if there
// is one.
func (s *Store) view(v viewing, fn func(*Tx) error) error {
	if v.readOnly == nil {
		v.readOnly = ErrReadOnly
	}
	p, err := s.inspectFile(false, v.whole)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.lost(v.bootID); err != nil {
			return err
		}
		return fn(&Tx{store: s, readOnly: v.readOnly})
	}
	var content error
	if errors.Is(err, errContent) {
		content, err = err, nil
	}
	if err != nil {
		return err
	}
	return s.viewBolt(s.Path(), v.deadline, p.whole, func(f *os.File, tx *bolt.Tx) error {
		u, err := mapUnscanned(f, p)
		if err != nil {
			return err
		}
		defer u.unmap()
		t, err := s.begin(tx, u, v.bootID)
		if err == nil {
			_, err = s.checkOpen(t, v.bootID, p.Tx)
		}
		if err == nil && v.whole {
			err = t.Verify()
		}
		if err == nil {
			err = content
		}
		t.problem, t.readOnly = err, v.readOnly
		return fn(t)
	})
}

// viewBolt opens a checkpoint file that was inspected. sound: all of its pages
// were.
func (s *Store) viewBolt(path string, deadline time.Time, sound bool, fn func(*os.File, *bolt.Tx) error) error {
	db, err := openBolt(path, true, deadline)
	if err != nil {
		return err
	}
	defer s.watch(sound)()
	err = guard(path, func() error {
		return db.View(func(tx *bolt.Tx) error { return fn(db.file, tx) })
	})
	s.closeAfter(db, err)
	return err
}
