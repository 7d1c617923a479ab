package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// A commit whose last sync fails has failed for its caller, but the next
// process may find it in the file. So what takes it back is left in the undo
// file, and the next writer applies that before anything else. Nothing is
// retried, and nothing is synced: the file has to outlive a process, not a boot.
//
// The file has a line for each failed commit since the last good one, since
// none of them is known to be in the checkpoint. The one that is there is told
// by meta/commit, not by its transaction id: the id of a commit that left no
// trace is used again.
type undoEntry struct {
	Commit  string   `json:"commit"`
	Changes []change `json:"changes"` // those that take it back, in their order
}

// maxUndoFile bounds what is read of the undo file, in bytes.
const maxUndoFile = 64 << 20

// leaveUndo is for a transaction whose commit has failed.
func (s *Store) leaveUndo(t *Tx, tx uint64) {
	undo := slices.Clone(t.undo)
	slices.Reverse(undo)
	doc, err := json.Marshal(undoEntry{Commit: t.commit, Changes: undo})
	if err == nil {
		// Begun on a new line: the one before may be torn.
		err = appendLine(s.file(UndoFile), os.O_CREATE, append([]byte("\n"), journalLine(doc, tx)...))
	}
	if err != nil {
		s.opts.Warn(fmt.Sprintf("%s could not be written: %v; what this call changed may be seen by the next", s.file(UndoFile), err))
	}
}

// applyUndo takes back the commit that is the file's last, if it had failed.
// What it does is not to be taken back again should this transaction fail.
func (s *Store) applyUndo(t *Tx, bootID string) error {
	entries, err := s.readUndo()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	t.undoFile = true
	i := slices.IndexFunc(entries, func(e undoEntry) bool { return e.Commit == t.commit })
	if i < 0 {
		return nil
	}
	if err := t.apply(entries[i].Changes); err != nil {
		return err
	}
	t.undo = nil
	s.opts.Warn(fmt.Sprintf("%s: the last transaction, whose commit had failed, was taken back", s.Path()))
	return t.readMeta(bootID) // its epoch may be among what is taken back
}

// readUndo returns the entries that are whole.
func (s *Store) readUndo() ([]undoEntry, error) {
	f, err := openRegular(s.file(UndoFile), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxUndoFile))
	if err != nil {
		return nil, err
	}
	var entries []undoEntry
	for line := range bytes.Lines(b) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e undoEntry
		doc, _, err := parseJournalLine(line)
		if err != nil || json.Unmarshal(doc, &e) != nil {
			s.opts.Warn(fmt.Sprintf("a line of %s is not whole and was dropped", s.file(UndoFile)))
			continue
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// dropUndo removes the undo file, if there is one. Should that fail it does no
// harm: no commit will have these names again.
func (s *Store) dropUndo(t *Tx) {
	if t.undoFile {
		_ = os.Remove(s.file(UndoFile))
	}
}

// apply makes changes as they stand in the journal.
func (t *Tx) apply(changes []change) error {
	for _, c := range changes {
		var err error
		if c.Value == nil {
			err = t.remove(c.Path, c.Key)
		} else {
			err = t.put(c.Path, c.Key, c.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
