// Package fsync makes durable what a file's own fsync(2) does not: its name.
package fsync

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Dir makes the names in a directory durable. It does not wait for a pipe that
// stands in its place.
func Dir(path string) error {
	d, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
