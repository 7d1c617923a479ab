package hostlocal

import (
	"os"

	"golang.org/x/sys/unix"
)

// HoldsSomething tells whether there is more in the directory than the lock,
// without taking it and without reading the files.
func (d *Dir) HoldsSomething() bool {
	dir, err := os.OpenFile(d.path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(2)
	if err != nil {
		return false // also the end of an empty one
	}
	return len(names) > 1 || names[0] != lockName
}
