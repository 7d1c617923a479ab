package store

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/pages"
)

// A DEL writes pages before it frees any. So an ADD leaves this many free
// beyond those in use, really allocated, and DEL and GC never grow the file:
// on a full disk they still free addresses.
const (
	roomPages      = 8
	roomPagesTight = 4         // where less than tightSpace is free
	smallFile      = 8         // pages in use up to which there is no tight room: the first ADD makes buckets, and would use it up itself
	tightSpace     = 128 << 10 // bytes
	growChunk      = 64 << 10  // bytes beyond the room, so that not every ADD grows the file
)

// makeRoom grows f for one more ADD. Its error wraps ErrNoSpace where the disk
// is full.
func makeRoom(f *os.File, p pages.Meta) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("making room in %s: %w", f.Name(), err)
	}
	have := min(st.Size, st.Blocks*512)
	want := (int64(p.HighWater) + roomPages) * p.PageSize
	if have >= want {
		return nil
	}
	err := allocate(f, want+growChunk)
	if diskFull(err) {
		err = allocate(f, want)
	}
	if diskFull(err) {
		if tight := (int64(p.HighWater) + roomPagesTight) * p.PageSize; p.HighWater > smallFile && spaceLeft(f) < tightSpace {
			if have >= tight {
				return nil
			}
			err = allocate(f, tight)
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		return nil // no such call on this file system: bbolt grows the file
	case diskFull(err):
		return fmt.Errorf("%w: growing %s: %w; nothing was allocated: free disk space", ErrNoSpace, f.Name(), err)
	}
	return fmt.Errorf("growing %s: %w", f.Name(), err)
}

func allocate(f *os.File, size int64) error {
	for {
		if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != unix.EINTR {
			return err
		}
	}
}

func spaceLeft(f *os.File) int64 {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return 0
	}
	return int64(fs.Bavail) * int64(fs.Bsize)
}
