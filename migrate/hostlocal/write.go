package hostlocal

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// write makes a file whole and synced before it has its name, in the place of
// another one or only where there is none, and returns its mark. The name
// beside the directory serves where the file system knows no other way: in the
// directory host-local would take a temporary file for a reservation.
func (d *Dir) write(path string, mode os.FileMode, b []byte, over bool) (mark string, err error) {
	f, named, err := d.unnamed(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer f.Close()
	if named {
		defer os.Remove(d.beside())
	}
	if err := f.Chmod(mode); err != nil { // whatever the umask
		return "", err
	}
	if _, err := f.Write(b); err != nil {
		return "", err
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	failpoint.Hit("hostlocal.written")
	switch {
	case over && named:
		err = os.Rename(d.beside(), path)
	case over:
		err = d.nameOver(f, path)
	case named:
		err = os.Link(d.beside(), path)
	default:
		err = link(f, path)
	}
	if err != nil {
		return "", err
	}
	mark, err = d.settled(f, named && !over)
	if err != nil && !over {
		err = errors.Join(err, remove(path)) // the caller knows of no file
	}
	return mark, err
}

// settled returns the mark of a file that has its name, once it has no other.
func (d *Dir) settled(f *os.File, twoNames bool) (string, error) {
	if twoNames {
		if err := os.Remove(d.beside()); err != nil { // which changes the change time
			return "", err
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", &os.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return markOf(&st), nil
}

// openUnnamed opens a file without a name in dir. Tests replace it by a file
// system that has none.
var openUnnamed = func(dir string) (*os.File, error) {
	return os.OpenFile(dir, unix.O_TMPFILE|unix.O_WRONLY, fileMode)
}

// unnamed opens a file without a name in dir. Where the file system has none, it
// is the one beside the directory.
func (d *Dir) unnamed(dir string) (f *os.File, named bool, err error) {
	f, err = openUnnamed(dir)
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) {
		return f, false, err
	}
	if err := d.clearBeside(); err != nil {
		return nil, false, err
	}
	f, err = os.OpenFile(d.beside(), os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, fileMode)
	return f, true, err
}

// nameOver gives a file without a name that of another one: in one step, by way
// of the name beside. Where the directory is a mount point, or files of others
// are in the way beside it, the name is free for a moment.
func (d *Dir) nameOver(f *os.File, path string) error {
	err := d.clearBeside()
	if err == nil {
		err = link(f, d.beside())
	}
	if err == nil {
		failpoint.Hit("hostlocal.beside")
		if err = os.Rename(d.beside(), path); err != nil {
			return errors.Join(err, remove(d.beside()))
		}
		return nil
	}
	if !errors.Is(err, unix.EXDEV) && !errors.Is(err, form.ErrCannotShut) {
		return err
	}
	if err := remove(path); err != nil {
		return err
	}
	failpoint.Hit("hostlocal.name-free")
	return link(f, path)
}

// link gives a file without a name one that nobody has.
func link(f *os.File, path string) error {
	from := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	if err := unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.LinkError{Op: "linkat", Old: f.Name(), New: path, Err: err}
	}
	return nil
}
