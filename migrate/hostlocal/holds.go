package hostlocal

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// HoldsSomething tells whether there is more in the directory than the lock, or
// may be, without taking it and without reading the files.
func (d *Dir) HoldsSomething() bool {
	dir, err := os.OpenFile(d.path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return isLink(d.path) || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(2)
	if err != nil {
		return !errors.Is(err, io.EOF)
	}
	return len(names) > 1 || names[0] != lockName
}
