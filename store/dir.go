package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/fsync"
)

// makeDir makes the data directory, 0700 whatever the umask, and its parents.
func makeDir(dir string, perm os.FileMode) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", dir)
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, perm); errors.Is(err, fs.ErrExist) {
		return nil // another process, this moment
	} else if err != nil {
		return err
	}
	if err := setMode(dir, perm); err != nil {
		return err
	}
	return fsync.Dir(parent)
}

// makeDeferredDir makes the directory for DELs that cannot be written.
func (s *Store) makeDeferredDir() error {
	dir := s.file(DeferredDir)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := os.Lstat(dir); err != nil {
		return err
	} else if !info.IsDir() { // a link's target is not ours to change
		return fmt.Errorf("%s is not a directory: remove it", dir)
	}
	return setMode(dir, 0o700)
}

// setMode gives a file its mode, whatever the umask has made of it. Not every
// file system has modes, or lets them be changed: that fails nothing.
func setMode(path string, mode os.FileMode) error {
	err := os.Chmod(path, mode)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}
