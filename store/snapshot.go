package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// snapshotBatch is how many keys one line of a snapshot has.
const snapshotBatch = 256

// replaceJournal writes a journal anew: its header, and all that the
// checkpoint holds as of tx. It comes whole or not at all, by rename.
func replaceJournal(dir string, tx *bolt.Tx, h journalHeader) (err error) {
	tmp := filepath.Join(dir, newJournalFile)
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := openRegular(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(tmp)
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	id := uint64(tx.ID())
	doc, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if _, err := w.Write(journalLine(doc, id)); err != nil {
		return err
	}
	s := snapshotWriter{w: w, tx: id}
	err = tx.ForEach(func(name []byte, b *bolt.Bucket) error { return s.bucket([]string{string(name)}, b) })
	if err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, JournalFile))
}

type snapshotWriter struct {
	w     *bufio.Writer
	tx    uint64
	keys  int
	batch []change
}

func (s *snapshotWriter) bucket(path []string, b *bolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return s.bucket(append(path[:len(path):len(path)], string(k)), b.Bucket(k))
		}
		s.batch = append(s.batch, change{Path: path, Key: k, Value: v})
		if len(s.batch) < snapshotBatch {
			return nil
		}
		return s.flush()
	})
}

func (s *snapshotWriter) flush() error {
	if len(s.batch) == 0 {
		return nil
	}
	s.keys += len(s.batch)
	doc := journalEntry{Verb: verbSnapshot, Changes: s.batch}.encode()
	s.batch = s.batch[:0]
	_, err := s.w.Write(journalLine(doc, s.tx))
	return err
}

// end writes what is left, and the line that tells a snapshot that was cut from
// a whole one.
func (s *snapshotWriter) end() error {
	if err := s.flush(); err != nil {
		return err
	}
	_, err := s.w.Write(journalLine(journalEntry{Verb: verbSnapshotEnd, Keys: s.keys}.encode(), s.tx))
	return err
}
