// Package smallfile reads configuration files, in whose place anything may
// stand: it neither waits for the writer of a pipe nor fills the memory.
package smallfile

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxSize, in bytes, is more than any configuration has.
const maxSize = 4 << 20

var errNotRegular = errors.New("not a regular file")

// Read returns what a regular file has, or what a link leads to. The error wraps
// fs.ErrNotExist where there is none.
func Read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %w", path, errNotRegular)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(b) > maxSize {
		err = fmt.Errorf("%s has more than %d bytes", path, maxSize)
	}
	return b, err
}
