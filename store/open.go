package store

import (
	"errors"
	"fmt"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/cmdline"
	"github.com/bolt-local/bolt-local/store/filelock"
)

// boltFile is an open checkpoint.
type boltFile struct {
	*bolt.DB
	file *os.File
}

// openBolt opens an existing, inspected checkpoint. The caller holds the lock,
// so bbolt's own is free unless another program uses the file.
func openBolt(path string, readOnly bool, deadline time.Time) (boltFile, error) {
	var b boltFile
	opts := &bolt.Options{
		Timeout:      max(time.Until(deadline), time.Millisecond),
		ReadOnly:     readOnly,
		FreelistType: bolt.FreelistArrayType,
		NoStatistics: true,
		// bbolt would create a file that has just vanished.
		OpenFile: func(name string, flag int, perm os.FileMode) (*os.File, error) {
			var err error
			b.file, err = os.OpenFile(name, flag&^os.O_CREATE|unix.O_NOFOLLOW, perm)
			return b.file, err
		},
	}
	err := guard(path, func() error {
		for {
			var err error
			b.DB, err = bolt.Open(path, 0o600, opts)
			// A network's file system may interrupt the wait for bbolt's lock.
			if !errors.Is(err, unix.EINTR) || time.Now().After(deadline) {
				return err
			}
		}
	})
	switch {
	case err == nil:
		return b, nil
	case crashed(err):
		b.abandon()
		return b, err
	case errors.Is(err, berrors.ErrTimeout):
		return b, fmt.Errorf("%w: another program has %s open (`fuser %s`)", ErrLocked, path, cmdline.Word(path))
	case errors.Is(err, berrors.ErrInvalid) && readable(path) != nil:
		return b, readable(path) // bbolt takes that for a file that is none of its
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return b, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	if why := filelock.NoLocks(path, "ipam.dataDir", err); why != nil {
		return b, why
	}
	return b, fmt.Errorf("opening %s: %w", path, err)
}

// readable tries to read the first page of a file.
func readable(path string) error {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.ReadAt(make([]byte, os.Getpagesize()), 0)
	return err
}

// closeAfter closes the file once the work on it has ended with err. What is
// done stays done, or read: an error of closing is told and fails nothing.
func (s *Store) closeAfter(b boltFile, err error) {
	if crashed(err) {
		b.abandon()
		return
	}
	if err := guard(s.Path(), b.Close); err != nil {
		s.opts.Warn(fmt.Sprintf("closing %s: %v", s.Path(), err))
	}
}

// abandon lets go of bbolt's lock alone. Closing the file is not enough: its
// mapping stays and keeps the lock.
func (b boltFile) abandon() {
	_ = unix.Flock(int(b.file.Fd()), unix.LOCK_UN)
	_ = b.file.Close()
}

func crashed(err error) bool {
	var c *crash
	return errors.As(err, &c)
}

// diskFull tells whether the disk, or the user's share of it, is full.
func diskFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// noSpace adds ErrNoSpace to the errors of a full disk. bbolt hides the
// errno of a failed truncate in text; the file has room, so it does not come
// to that.
func noSpace(err error) error {
	if diskFull(err) {
		return fmt.Errorf("%w (%w): free disk space", ErrNoSpace, err)
	}
	return err
}
