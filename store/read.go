package store

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Read calls fn once with a consistent view, under the lock: fn copies what it
// needs and returns. It writes nothing and works on a read-only file system.
// Its errors wrap ErrDamaged, ErrFormat or ErrLocked where they apply.
func (s *Store) Read(fn func(*Tx) error) error { return s.read(believed(fn)) }

// ReadAny is Read for whoever wants to see what can be seen: of a checkpoint
// that this version must not write, or that should not be believed, it gives
// a transaction with a Problem.
func (s *Store) ReadAny(fn func(*Tx) error) error { return s.read(fn) }

// believed keeps fn from a transaction that has a problem.
func believed(fn func(*Tx) error) func(*Tx) error {
	return func(t *Tx) error {
		if t.problem != nil {
			return t.problem
		}
		return fn(t)
	}
}

func (s *Store) read(fn func(*Tx) error) error {
	bootID := s.opts.BootID()
	deadline := time.Now().Add(s.opts.LockTimeout)
	l, err := s.lock(false, false, deadline)
	switch {
	case err == nil:
		defer l.Unlock()
	case !errors.Is(err, fs.ErrNotExist):
		return err
		// Without a lock file nobody writes, or nobody ever has.
	}
	return s.view(bootID, deadline, nil, fn)
}

// view opens the checkpoint for reading. The caller holds the lock, if there
// is one. readOnly is what a write then gets.
func (s *Store) view(bootID string, deadline time.Time, readOnly error, fn func(*Tx) error) error {
	if readOnly == nil {
		readOnly = ErrReadOnly
	}
	p, err := s.inspectFile(false)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.lost(bootID); err != nil {
			return err
		}
		return fn(&Tx{store: s, readOnly: readOnly})
	}
	if err != nil {
		return fmt.Errorf("reading the checkpoint: %w", err)
	}
	db, err := openBolt(s.Path(), true, deadline)
	if err != nil {
		return err
	}
	err = guard(s.Path(), func() error {
		return db.View(func(tx *bolt.Tx) error {
			t, err := s.begin(tx, bootID)
			if err == nil {
				_, err = s.checkOpen(t, bootID, p.tx)
			}
			t.problem, t.readOnly = err, readOnly
			return fn(t)
		})
	})
	s.closeAfter(db, err)
	return err
}
