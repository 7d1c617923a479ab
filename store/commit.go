package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/internal/failpoint"
)

func (t *Tx) putStamp() error {
	return t.put([]string{bucketMeta, bucketStamp}, []byte(keyStampSchema1), uint64Bytes(uint64(t.bolt.ID())))
}

// putLast writes what goes with each commit: the version that makes it, that
// networks are forgotten, and behind all other changes its own id and the stamp.
func (t *Tx) putLast() error {
	if writer := t.store.opts.Writer; t.format.Writer != writer {
		t.format.Writer = writer
		format, err := t.format.encode()
		if err != nil {
			return fmt.Errorf("writing meta/format to %s: %w", t.store.Path(), err)
		}
		if err := t.put([]string{bucketMeta}, []byte(keyFormat), format); err != nil {
			return err
		}
	}
	if err := t.dropForgotten(); err != nil {
		return err
	}
	var err error
	if t.commit, err = newCommit(t.bucket([]string{bucketMeta})); err != nil {
		return fmt.Errorf("making an id for the commit to %s: %w", t.store.Path(), err)
	}
	if err := t.put([]string{bucketMeta}, []byte(keyCommit), []byte(t.commit)); err != nil {
		return err
	}
	return t.putStamp()
}

// commit makes t durable and then tells the journal and the witness.
func (s *Store) commit(db *bolt.DB, t *Tx, op Op, j journalState) error {
	if err := t.putLast(); err != nil {
		return err
	}
	id, inUse := uint64(t.bolt.ID()), t.bolt.Size()
	line := journalEntry{Verb: op.Verb, Changes: t.changes}
	if !j.goesOn(t.journalHeader(), id, inUse) {
		line.Verb = verbSnapshot // of everything, through which bbolt will go
		t.pages.scan()
	}
	failpoint.Hit("store.before-commit")
	if err := s.inPlace(t.lock); err != nil {
		return err
	}
	var err error
	s.Outside(func() { err = s.commitBolt(t.bolt) })
	if err != nil {
		s.leaveUndo(t, id)
		return fmt.Errorf("committing to %s: %w; the call has changed nothing, or the next one takes it back", s.Path(), noSpace(err))
	}
	failpoint.Hit("store.after-commit")
	if err := s.inPlace(t.lock); err != nil {
		return err
	}
	s.dropUndo(t)
	s.tellJournal(db, t, line, id)
	failpoint.Hit("store.after-journal")
	s.tellWitness(t, id)
	failpoint.Hit("store.after-witness")
	return nil
}

// tellJournal appends t's changes, or writes the journal anew where that is not
// this boot's, not whole, or too long.
func (s *Store) tellJournal(db *bolt.DB, t *Tx, line journalEntry, id uint64) {
	if line.Verb == verbSnapshot {
		s.rewriteJournal(db, t)
		return
	}
	s.journalWritten(appendJournal(s.file(JournalFile), id, line))
}

// rewriteJournal writes the journal anew, from what the file holds.
func (s *Store) rewriteJournal(db *bolt.DB, t *Tx) {
	// It takes long where much is stored, and all pages were looked at.
	s.Outside(func() {
		s.journalWritten(db.View(func(tx *bolt.Tx) error { return replaceJournal(s.dir, tx, t.journalHeader()) }))
	})
}

// tellWitness names transaction id, which is durable, in the lock file.
func (s *Store) tellWitness(t *Tx, id uint64) {
	w := witness{BootID: t.epochs.newestBoot, Checkpoint: t.format.ID, Tx: id}
	if err := writeWitness(s.file(LockFile), w); err != nil {
		s.opts.Warn(fmt.Sprintf("%s is behind: %v", s.file(LockFile), err))
	}
}

func (t *Tx) journalHeader() journalHeader {
	return journalHeader{Journal: journalFormat, BootID: t.epochs.newestBoot, Checkpoint: t.format.ID}
}

// goesOn tells whether transaction id may be added to a journal. inUse is the
// size of the checkpoint in bytes.
func (j journalState) goesOn(header journalHeader, id uint64, inUse int64) bool {
	return j.header == header && j.last+1 == id && j.size <= max(journalMinLimit, journalFactor*inUse)
}

// journalWritten removes the journal where writing it failed with err: one that is
// behind the truth is worse than none.
func (s *Store) journalWritten(err error) {
	if err == nil {
		return
	}
	path := s.file(JournalFile)
	if rmErr := os.Remove(path); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
		s.opts.Warn(fmt.Sprintf("%s could not be written (%v), nor removed (%v): it is behind until a write makes it anew", path, err, rmErr))
		return
	}
	s.opts.Warn(fmt.Sprintf("%s could not be written and was removed (%v): the next write makes it anew", path, err))
}
