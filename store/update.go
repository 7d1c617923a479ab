package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// Update calls fn in one transaction. It is committed and durable when Update
// returns nil, and without effect when fn fails; a transaction that writes
// nothing costs no sync. Upkeep that is due (a new epoch) is committed even
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

	p, err := s.inspectFile(true)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.lost(bootID); err != nil || !op.Creates {
			return err
		}
		if err := s.create(bootID); err != nil {
			return err
		}
		p, err = s.inspectFile(true)
	}
	switch {
	case readOnlyError(err) && !op.Creates:
		return s.view(bootID, deadline, refusal(err), believed(fn))
	case err != nil:
		return fmt.Errorf("opening the checkpoint: %w", err)
	}
	db, err := openBolt(s.Path(), false, deadline)
	if err != nil {
		return err
	}
	err = s.transact(db, op, bootID, p, fn)
	s.closeAfter(db, err)
	return err
}

// acquireForWriting takes the lock, in a directory that it makes where op
// creates. Somebody may remove that while others wait for its lock: then it is
// made again.
func (s *Store) acquireForWriting(op Op, deadline time.Time) (*flock.Flock, error) {
	if !op.Creates {
		return acquire(s.file(LockFile), exists(s.Path()), true, deadline)
	}
	for {
		if err := makeDir(s.dir, 0o700); err != nil {
			return nil, fmt.Errorf("making ipam.dataDir: %w", noSpace(err))
		}
		l, err := acquire(s.file(LockFile), true, true, deadline)
		if !errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
			return l, err
		}
	}
}

// updateReadOnly lets fn look at a checkpoint that cannot be written.
func (s *Store) updateReadOnly(bootID string, deadline time.Time, why error, fn func(*Tx) error) error {
	l, err := acquire(s.file(LockFile), false, false, deadline)
	switch {
	case err == nil:
		defer l.Unlock()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return s.view(bootID, deadline, refusal(why), believed(fn))
}

func refusal(err error) error { return fmt.Errorf("%w: %w", ErrReadOnly, err) }

func readOnlyError(err error) bool {
	return errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// transact runs fn on the open checkpoint, of which inspect said p.
func (s *Store) transact(db boltFile, op Op, bootID string, p pages, fn func(*Tx) error) error {
	return guard(s.Path(), func() error {
		fnErr, upkeep, err := s.attempt(db, op, bootID, p, fn)
		if err != nil {
			return err
		}
		if fnErr != nil && upkeep {
			if _, _, err := s.attempt(db, op, bootID, p, func(*Tx) error { return nil }); err != nil {
				return errors.Join(fnErr, err)
			}
		}
		return fnErr
	})
}

// attempt makes one transaction: checks, upkeep, fn, commit. It reports fn's
// error, after which nothing was written, and whether upkeep was due.
func (s *Store) attempt(db boltFile, op Op, bootID string, p pages, fn func(*Tx) error) (fnErr error, upkeep bool, err error) {
	tx, err := db.Begin(true)
	if err != nil {
		return nil, false, err
	}
	defer tx.Rollback() // after a commit there is nothing to roll back
	t, err := s.begin(tx, bootID)
	if err != nil {
		return nil, false, err
	}
	journal, err := s.checkOpen(t, bootID, p.tx)
	if err != nil {
		return nil, false, err
	}
	if op.Creates { // only now: a refusal leaves every byte as it was
		if err := makeRoom(db.file, p); err != nil {
			return nil, false, err
		}
	}
	if err := s.applyUndo(t, bootID); err != nil {
		return nil, false, err
	}
	if op.Runtime {
		if err := t.beginEpoch(bootID); err != nil {
			return nil, false, err
		}
	}
	due := len(t.changes)
	upkeep = due > 0
	if err := fn(t); err != nil {
		return err, upkeep, nil
	}
	switch {
	case len(t.changes) == 0:
		s.dropUndo(t)
		return nil, false, nil
	case len(t.changes) == due && !op.Creates:
		return nil, upkeep, s.commitUpkeep(db.DB, t, op, journal)
	}
	return nil, upkeep, s.commit(db.DB, t, op, journal)
}

// commitUpkeep is for a call that had nothing to write itself, such as the DEL
// of what is not there: it must not fail because a full disk has no room for
// what can wait for the next call.
func (s *Store) commitUpkeep(db *bolt.DB, t *Tx, op Op, j journalState) error {
	err := s.commit(db, t, op, j)
	if errors.Is(err, ErrNoSpace) {
		s.opts.Warn(err.Error())
		return nil
	}
	return err
}

// beginEpoch gives a boot id that was never seen its number, and the records
// that have none the current one.
func (t *Tx) beginEpoch(bootID string) error {
	if bootID != "" && !t.epochs.seen {
		t.epochs.newest++
		t.epochs.newestBoot, t.epochs.seen = bootID, true
		if err := t.put([]string{bucketMeta, bucketEpochs}, []byte(bootID), uint64Bytes(t.epochs.newest)); err != nil {
			return err
		}
	}
	t.epoch = t.epochs.current(bootID)
	if t.epoch == 0 {
		return nil
	}
	b := t.bucket([]string{bucketMeta, bucketUnnumbered})
	if b == nil {
		return nil
	}
	var keys [][]byte
	if err := b.ForEach(func(k, _ []byte) error {
		keys = append(keys, slices.Clone(k))
		return nil
	}); err != nil {
		return err
	}
	for _, key := range keys {
		if err := t.numberRecord(key); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) numberRecord(key []byte) error {
	network, addr, ok := strings.Cut(string(key), "\x00")
	if !ok {
		return fmt.Errorf("%w: %s: the key %q in meta/unnumbered", ErrDamaged, t.store.Path(), key)
	}
	a, err := keyAddr([]byte(addr))
	if err != nil {
		return err
	}
	n := t.Network(network)
	rec, found, err := n.Get(a)
	if err != nil {
		return err
	}
	if !found {
		return t.remove([]string{bucketMeta, bucketUnnumbered}, key)
	}
	rec.Epoch = t.epoch
	return n.Put(rec)
}
