package cnicache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// maxSize, in bytes, is more than any result with its configuration has.
const maxSize = 4 << 20

var errNotRegular = errors.New("not a regular file")

// list returns the names in dir that begin with prefix, sorted. A missing
// directory has none. What was listed before an error is returned with it.
func list(dir, prefix string) ([]string, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the directory of cached results: %w", err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		err = fmt.Errorf("the directory of cached results: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
	slices.Sort(names)
	return names, err
}

// inParallel calls fn for each of n files. A node's cache is often small; the
// leavings of years are read on every processor.
func inParallel(n int, fn func(r *reader, i int)) {
	const perReader, most = 64, 4
	var (
		next atomic.Int64
		wg   sync.WaitGroup
	)
	for range min(n/perReader+1, runtime.GOMAXPROCS(0), most) {
		wg.Go(func() {
			var r reader
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				fn(&r, i)
			}
		})
	}
	wg.Wait()
}

// reader reads one file after the other into the same buffer. It makes the
// system calls itself: an os.File makes more of them for each, and ten thousand
// files took 1.4 times as long to open and read.
type reader struct{ buf []byte }

// read returns the content of a regular file until the next call, and whether
// there is such a file. It never waits: a pipe may stand in its place.
func (r *reader) read(path string) ([]byte, bool, error) {
	fd, err := uninterrupted(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	})
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENAMETOOLONG):
		return nil, false, nil
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO):
		return nil, false, errNotRegular
	case err != nil:
		return nil, false, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, false, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, false, errNotRegular
	}
	if st.Size > maxSize {
		return nil, false, fmt.Errorf("%d bytes long, more than the %d of any result", st.Size, maxSize)
	}
	r.buf = slices.Grow(r.buf[:0], int(st.Size))[:st.Size]
	for read := 0; read < len(r.buf); {
		n, err := uninterrupted(func() (int, error) { return unix.Read(fd, r.buf[read:]) })
		if err != nil {
			return nil, false, err
		}
		if n == 0 {
			r.buf = r.buf[:read] // cut while it was read
		}
		read += n
	}
	return r.buf, true, nil
}

// uninterrupted repeats a system call that a signal broke off.
func uninterrupted(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
