package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Writable tells why an ADD could not write, by asking the kernel alone: it
// writes nothing.
func (s *Store) Writable() error {
	if _, err := owned(s.paths()...); err != nil {
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	dir := s.dir
	for {
		err := unix.Access(dir, unix.W_OK|unix.X_OK)
		if err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return fmt.Errorf("%w: %s: %w", ErrReadOnly, dir, err)
		}
		dir = parent
	}
	err := unix.Access(s.Path(), unix.R_OK|unix.W_OK)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s: %w", ErrReadOnly, s.Path(), err)
	}
	return nil
}
