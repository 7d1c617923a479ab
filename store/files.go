package store

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openRegular opens a regular file and nothing else, without waiting: a pipe in
// its place must not hang a call that holds the lock. A file that is made has
// mode 0600 whatever the umask.
func openRegular(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EISDIR) {
		return nil, notRegular(path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	if flag&os.O_CREATE != 0 && info.Mode().Perm() != 0o600 {
		_ = f.Chmod(0o600) // it is open all the same
	}
	return f, nil
}

func notRegular(path string) error {
	return fmt.Errorf("%s is %w: remove it", path, ErrNotRegular)
}
