package store

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/pages"
)

// confirm makes durable what a killed process, or one whose last sync failed,
// has left in the page cache. bbolt takes what it reads for synced, and the next
// commit writes over pages of the transaction before: after a power cut there
// would be neither. The witness is written after the last sync, so where it names
// this transaction there is nothing to do.
func (s *Store) confirm(f *os.File, t *Tx, m pages.Meta) error {
	w, known, err := readWitness(s.file(LockFile))
	if err == nil && known && w.Checkpoint == t.format.ID && w.Tx == m.Tx {
		return nil
	}
	if err = rewriteMetas(f, m); err == nil {
		err = os.NewSyscallError("fdatasync", unix.Fdatasync(int(f.Fd())))
	}
	if err == nil {
		err = syncDir(s.dir)
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
