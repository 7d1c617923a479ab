package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/fsync"
	"github.com/bolt-local/bolt-local/store/pages"
)

// confirm makes durable what a killed process, or one whose last sync failed,
// has left in the page cache. bbolt takes what it reads for synced, and the next
// commit writes over pages of the transaction before: after a power cut there
// would be neither. The witness is written after the last sync, so where it names
// this transaction there is nothing to do. Else the journal and the witness are
// told of it as well: what a call answers from it, or builds on it, they have to
// vouch for. It returns what the journal says then, j where it is as before.
func (s *Store) confirm(db boltFile, t *Tx, m pages.Meta, j journalState) (journalState, error) {
	w, known, err := readWitness(s.file(LockFile))
	if err == nil && known && w.Checkpoint == t.format.ID && w.Tx == m.Tx {
		return j, nil
	}
	if err := s.syncAgain(db.file, m); err != nil {
		return j, err
	}
	if s.isUndone(t) {
		return j, nil // the next commit, which is due, takes it back
	}
	t.pages.scan()
	if err := s.inPlace(t.lock); err != nil {
		return j, err
	}
	s.rewriteJournal(db.DB, t)
	s.tellWitness(t, m.Tx)
	j, _, err = readJournalState(s.file(JournalFile))
	if err != nil {
		j = journalState{} // the commit writes it anew
	}
	return j, nil
}

// isUndone tells whether the file's last commit has failed for its caller.
func (s *Store) isUndone(t *Tx) bool {
	entries, err := s.readUndo()
	return err == nil && slices.ContainsFunc(entries, func(e undoEntry) bool { return e.Commit == t.commit })
}

func (s *Store) syncAgain(f *os.File, m pages.Meta) error {
	err := rewriteMetas(f, m)
	if err == nil {
		err = os.NewSyscallError("fdatasync", unix.Fdatasync(int(f.Fd())))
	}
	if err == nil {
		err = fsync.Dir(s.dir)
	}
	if err != nil {
		return fmt.Errorf("making durable what the last call has left in %s: %w", s.Path(), noSpace(err))
	}
	return nil
}

// rewriteMetas writes both meta pages again as they are: a sync that has failed
// leaves a page that the kernel takes for written. All other pages were synced
// before a meta page named them.
func rewriteMetas(f *os.File, m pages.Meta) error {
	b := make([]byte, 2*m.PageSize)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err := f.WriteAt(b, 0)
	return err
}
