package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/filelock"
)

// Update calls fn in one transaction, once at most. It is committed and durable
// when Update returns nil, and without effect when fn fails; a transaction that
// writes nothing costs no sync. Upkeep that is due (a new epoch) is committed even
// when fn fails. Where the file system is read-only, an fn that writes nothing
// still succeeds, unless the operation creates.
func (s *Store) Update(op Op, fn func(*Tx) error) error {
	bootID := s.opts.BootID() // first of all: what follows belongs to this boot
	deadline := time.Now().Add(s.opts.LockTimeout)
	l, err := s.acquireForWriting(op, deadline)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !op.Creates:
		return s.lost(bootID)
	case readOnlyError(err) && !op.Creates:
		return s.updateReadOnly(bootID, deadline, err, fn)
	case err != nil:
		return noSpace(err)
	}
	defer l.Unlock()

	p, err := s.inspectFile(true, false)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.lost(bootID); err != nil || !op.Creates {
			return err
		}
		if err := s.create(l, bootID); err != nil {
			return err
		}
		p, err = s.inspectFile(true, false)
	}
	switch {
	case readOnlyError(err) && !op.Creates:
		return s.view(viewing{bootID: bootID, deadline: deadline, readOnly: refusal(err)}, believed(fn))
	case err != nil:
		return err
	}
	db, err := openBolt(s.Path(), false, deadline)
	if err != nil {
		return err
	}
	err = s.transact(db, l, op, bootID, p, fn)
	s.closeAfter(db, err)
	return op.done(err)
}

// acquireForWriting takes the lock, in a directory that it makes where op
// creates. Somebody may remove that while others wait for its lock: then it is
// made again.
func (s *Store) acquireForWriting(op Op, deadline time.Time) (*filelock.Lock, error) {
	if !op.Creates {
		return s.lock(exists(s.Path()), true, deadline)
	}
	for {
		if err := makeDir(s.dir, 0o700); err != nil {
			return nil, fmt.Errorf("making ipam.dataDir: %w", noSpace(err))
		}
		l, err := s.lock(true, true, deadline)
		if !errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
			return l, err
		}
	}
}

// updateReadOnly lets fn look at a checkpoint that cannot be written.
func (s *Store) updateReadOnly(bootID string, deadline time.Time, why error, fn func(*Tx) error) error {
	l, err := s.lock(false, false, deadline)
	switch {
	case err == nil:
		defer l.Unlock()
	case !errors.Is(err, fs.ErrNotExist):
		return errors.Join(why, err)
	}
	return s.view(viewing{bootID: bootID, deadline: deadline, readOnly: refusal(why)}, believed(fn))
}

func refusal(err error) error { return fmt.Errorf("%w: %w", ErrReadOnly, err) }

func readOnlyError(err error) bool {
	return errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
}

// exists tells whether something is there, or may be: what cannot be looked at
// is not lost.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// transact makes one transaction on the open checkpoint, of which inspect said
// p: checks, upkeep, fn, commit. Where fn fails, upkeep is left and committed.
func (s *Store) transact(db boltFile, l held, op Op, bootID string, p inspected, fn func(*Tx) error) error {
	defer s.watch(p.whole)()
	return guard(s.Path(), func() error {
		u, err := mapUnscanned(db.file, p)
		if err != nil {
			return err
		}
		defer u.unmap()
		tx, err := db.Begin(true)
		if err != nil {
			return err
		}
		defer tx.Rollback() // after a commit there is nothing to roll back
		t, err := s.begin(tx, u, bootID)
		if err != nil {
			return err
		}
		t.lock = l
		journal, err := s.checkOpen(t, bootID, p.Tx)
		if err != nil {
			return err
		}
		if op.Precheck != nil {
			if err := op.Precheck(t); err != nil {
				return err
			}
		}
		if journal, err = s.confirm(db, t, p.Meta, journal); err != nil {
			return err
		}
		if op.Creates { // only now: a refusal leaves every byte as it was
			if err := makeRoom(db.file, p.Meta); err != nil {
				return err
			}
		}
		if err := s.upkeep(t, op, bootID); err != nil {
			return err
		}
		due := len(t.changes)
		fnErr := t.Try(func() error {
			if err := fn(t); err != nil {
				return err
			}
			return t.inherit()
		})
		if err := s.finish(db.DB, t, op, journal, due); err != nil {
			return errors.Join(fnErr, err)
		}
		t.removeDone()
		return fnErr
	})
}

// upkeep writes what is due whatever the call itself does.
func (s *Store) upkeep(t *Tx, op Op, bootID string) error {
	if err := s.applyUndo(t, bootID); err != nil {
		return err
	}
	if op.Runtime {
		return t.beginEpoch(bootID)
	}
	return nil
}

// finish commits t, of whose changes the first due are upkeep, if it has any.
func (s *Store) finish(db *bolt.DB, t *Tx, op Op, j journalState, due int) error {
	switch {
	case t.spoiled != nil:
		return t.spoiled
	case len(t.changes) == 0:
		s.dropUndo(t)
		return nil
	case len(t.changes) == due && !op.Creates:
		return s.commitUpkeep(db, t, op, j)
	}
	return s.commit(db, t, op, j)
}

// commitUpkeep is for a call that wrote nothing itself, such as the DEL of what
// is not there: it must not fail because a full disk has no room for
// what can wait for the next call.
func (s *Store) commitUpkeep(db *bolt.DB, t *Tx, op Op, j journalState) error {
	err := s.commit(db, t, op, j)
	if errors.Is(err, ErrNoSpace) {
		s.opts.Warn(err.Error())
		t.done = nil
		return nil
	}
	return err
}
