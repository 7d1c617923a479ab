package store

import (
	"bytes"
	"fmt"
	"io"
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
