package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/cmdline"
)

// ErrLocked: the lock was not had in time.
var ErrLocked = errors.New("another process holds the lock")

// explain says of an error of opening or locking the file at path what to do.
// setting is the one that leads there.
func explain(path, setting string, err error) error {
	switch {
	case errors.Is(err, ErrLocked):
		return fmt.Errorf("%w: %s was not free in time; see who holds it (`fuser %s`) and try again", ErrLocked, path, cmdline.Word(path))
	case errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EISDIR):
		return notRegular(path)
	}
	if why := NoLocks(path, setting, err); why != nil {
		return why
	}
	return fmt.Errorf("locking %s: %w", path, err)
}

func notRegular(path string) error {
	return fmt.Errorf("%s is not a regular file: remove it", path)
}

// unsupported are the errors of flock(2) where the file system, often NFS, has
// no locks, or none for a file that is only read, or no lock manager, or no
// memory for one more.
var unsupported = []unix.Errno{unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL, unix.EBADF, unix.ENOLCK}

// NoLocks returns what to do about an error of flock(2) that the file system of
// path is to blame for, nil for any other. setting is the one that says where
// the file is, "" for none of ours.
func NoLocks(path, setting string, err error) error {
	errno, ok := err.(unix.Errno) // that of an open is wrapped
	if !ok || !slices.Contains(unsupported, errno) {
		return nil
	}
	if setting == "" {
		setting = "its directory"
	}
	return fmt.Errorf("locking %s: %w: %s does not support locks, or has none left; put %s on a local disk", path, err, fileSystem(path), setting)
}

// fileSystem names the file system of path where it is one that is known for
// trouble with locks.
func fileSystem(path string) string {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) == nil {
		if name, known := remote[uint32(st.Type)]; known {
			return "its file system, " + name + ","
		}
	}
	return "its file system"
}

// remote has the magic numbers of statfs(2), which are of 32 bits.
var remote = map[uint32]string{
	unix.NFS_SUPER_MAGIC:  "NFS",
	unix.CIFS_SUPER_MAGIC: "CIFS",
	unix.SMB2_SUPER_MAGIC: "SMB",
	unix.CEPH_SUPER_MAGIC: "Ceph",
	unix.V9FS_MAGIC:       "9p",
	unix.FUSE_SUPER_MAGIC: "FUSE",
}
