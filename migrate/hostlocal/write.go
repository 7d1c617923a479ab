package hostlocal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// write makes a file whole and synced before it has its name, in the place of
// another one or only where there is none, and returns its mark. The name
// beside the directory serves where the file system knows no other way: in the
// directory host-local would take a temporary file for a reservation.
func (d *Dir) write(path string, b []byte, over bool) (string, error) {
	f, named, err := d.unnamed(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer f.Close()
	if named {
		defer os.Remove(d.beside())
	}
	if err := f.Chmod(fileMode); err != nil { // whatever the umask
		return "", err
	}
	if _, err := f.Write(b); err != nil {
		return "", err
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	switch {
	case over && named:
		err = d.renameOver(path)
	case over:
		if err = remove(d.beside()); err == nil {
			err = d.link(f, d.beside())
		}
		if err == nil {
			err = d.renameOver(path)
		}
		if errors.Is(err, unix.EXDEV) { // the directory is a mount point
			if err = os.Remove(path); err == nil {
				err = d.link(f, path)
			}
		}
	case named:
		if err = os.Link(d.beside(), path); err == nil {
			err = os.Remove(d.beside()) // which changes the change time
		}
	default:
		err = d.link(f, path)
	}
	if err != nil {
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", err
	}
	return markOf(&st), nil
}

// unnamed opens a file without a name in dir. Where the file system has none
// (O_TMPFILE), it is the one beside the directory.
func (d *Dir) unnamed(dir string) (f *os.File, named bool, err error) {
	f, err = os.OpenFile(dir, unix.O_TMPFILE|unix.O_WRONLY, fileMode)
	if err == nil || !(errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR)) {
		return f, false, err
	}
	if err := remove(d.beside()); err != nil {
		return nil, false, err
	}
	f, err = os.OpenFile(d.beside(), os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, fileMode)
	return f, true, err
}

// link gives a file without a name one that nobody has.
func (d *Dir) link(f *os.File, path string) error {
	from := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	return unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
}

func (d *Dir) renameOver(path string) error {
	if err := os.Rename(d.beside(), path); err != nil {
		_ = os.Remove(d.beside())
		return err
	}
	return nil
}

// remove removes a file or an empty directory, which need not be there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
