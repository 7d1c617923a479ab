package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Backup writes a consistent copy of the checkpoint to w: a file that Restore
// takes, and that is a checkpoint itself. The lock is held while it is copied to
// memory, and not while it is written. A damaged checkpoint is an error that
// wraps ErrDamaged; where there is none it wraps ErrNoCheckpoint.
func (s *Store) Backup(w io.Writer) error {
	var copied bytes.Buffer
	err := s.ReadWhole(func(t *Tx) error {
		if !t.Exists() {
			return fmt.Errorf("%s: %w", s.Path(), ErrNoCheckpoint)
		}
		copied.Grow(int(t.bolt.Size()))
		_, err := t.bolt.WriteTo(&copied)
		return err
	})
	if err != nil {
		return err
	}
	_, err = copied.WriteTo(w)
	return err
}

// readFile reads a checkpoint that has to be sound, and one that this version
// may write.
func (s *Store) readFile(path, name string, deadline time.Time) (source, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if errors.Is(err, ErrNotRegular) { // a person may have any reason to keep it
		return source{}, fmt.Errorf("%w: %s is not a regular file", ErrBackup, path)
	}
	if err != nil {
		return source{}, err
	}
	_, err = inspect(f, true)
	_ = f.Close()
	var content error // what a newer schema has may not fit together for this one
	if errors.Is(err, errContent) {
		content, err = err, nil
	}
	if err != nil {
		return source{}, unusable(path, err)
	}
	src := source{name: name, whole: true, given: true}
	err = s.viewBolt(path, deadline, false, func(_ *os.File, tx *bolt.Tx) error {
		t, err := s.begin(tx, nil, "") // all of it was looked at
		if err == nil {
			err = t.format.mayWrite()
		}
		if err == nil {
			err = content
		}
		if err == nil {
			err = t.Verify()
		}
		if err == nil {
			src.content, err = readContent(tx)
		}
		return err
	})
	if err != nil {
		return source{}, unusable(path, err)
	}
	return src, nil
}

// unusable tells of a backup. That a newer version is needed for it is told as
// ever; that it is damaged must not pass for damage of the checkpoint.
func unusable(path string, err error) error {
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: %s: %s", ErrBackup, path, strings.TrimPrefix(err.Error(), ErrDamaged.Error()+": "))
	}
	return fmt.Errorf("%w: %s: %w", ErrBackup, path, err)
}
