package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// A commit whose last sync fails has failed for its caller, but the next
// process may find it in the file. So what it changed is left in the undo file,
// and the next writer takes it back before anything else. Nothing is retried,
// and nothing is synced: the file has to outlive a process, not a boot.
type undoEntry struct {
	Checkpoint string   `json:"checkpoint"`
	Changes    []change `json:"changes"` // those that take it back, in their order
}

// leaveUndo is for a transaction whose commit has failed.
func (s *Store) leaveUndo(t *Tx, tx uint64) {
	undo := slices.Clone(t.undo)
	slices.Reverse(undo)
	doc, err := json.Marshal(undoEntry{Checkpoint: t.format.ID, Changes: undo})
	if err == nil {
		err = os.WriteFile(s.file(UndoFile), journalLine(doc, tx), 0o600)
	}
	if err != nil {
		s.opts.Warn(fmt.Sprintf("%s could not be written: %v; what this call changed may be seen by the next", s.file(UndoFile), err))
	}
}

// applyUndo takes back what a failed commit left in the file, if that is still
// the last transaction. It reports whether there is an undo file to remove.
func (s *Store) applyUndo(t *Tx, fileTx uint64) (bool, error) {
	b, err := readNoFollow(s.file(UndoFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	doc, tx, err := parseJournalLine(b)
	var e undoEntry
	if err != nil || json.Unmarshal(doc, &e) != nil {
		s.opts.Warn(fmt.Sprintf("%s is not whole and was dropped", s.file(UndoFile)))
		return true, nil
	}
	if e.Checkpoint != t.format.ID || tx != fileTx {
		return true, nil
	}
	for _, c := range e.Changes {
		if c.Value == nil {
			err = t.remove(c.Path, c.Key)
		} else {
			err = t.put(c.Path, c.Key, c.Value)
		}
		if err != nil {
			return true, err
		}
	}
	s.opts.Warn(fmt.Sprintf("%s: transaction %d, whose commit had failed, was taken back", s.Path(), tx))
	return true, nil
}

func readNoFollow(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(f)
	return b.Bytes(), err
}
