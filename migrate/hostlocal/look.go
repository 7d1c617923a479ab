package hostlocal

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// Look implements [form.Old]. Its place is the inode of the directory and the
// identity of the lock file: whoever wipes the directory replaces one of them.
func (d *Dir) Look() (form.Contents, error) {
	c, err := lookAt(d.path)
	if errors.Is(err, unix.ENOTDIR) {
		return d.lookAtNotice()
	}
	if err != nil {
		return form.Contents{}, fmt.Errorf("reading host-local's directory: %w", err)
	}
	return c, nil
}

func lookAt(path string) (form.Contents, error) {
	dir, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return form.Contents{}, nil
	case errors.Is(err, unix.ENOTDIR) && isLink(path):
		return form.Contents{}, fmt.Errorf("%s is a symbolic link, which is not followed", path)
	case err != nil:
		return form.Contents{}, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return form.Contents{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return form.Contents{}, fmt.Errorf("%s: %w", path, err)
	}
	s := scan{dir: int(dir.Fd()), buf: make([]byte, maxContent+1)}
	s.Exists, s.Bare = true, true
	lock := ""
	for _, name := range names {
		if name == lockName {
			lock, err = markAt(s.dir, name)
		} else {
			s.Bare = false
			err = s.read(name)
		}
		if err != nil {
			return form.Contents{}, fmt.Errorf("%s/%s: %w", path, name, err)
		}
	}
	s.Place = strconv.FormatUint(st.Ino, 10) + "/" + lock
	slices.SortFunc(s.Entries, func(a, b form.Entry) int { return a.Addr.Compare(b.Addr) })
	slices.SortFunc(s.SetAside, func(a, b form.Aside) int { return a.Addr.Compare(b.Addr) })
	return s.Contents, nil
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// scan reads the files of one directory.
type scan struct {
	form.Contents
	dir int
	buf []byte
}

// read adds one file. One that has vanished, and names of no meaning, are
// passed over, as host-local does.
func (s *scan) read(name string) error {
	addr, err := netip.ParseAddr(name)
	isLast := strings.HasPrefix(name, lastPrefix)
	if err != nil && !isLast {
		return nil
	}
	b, mark, err := readAt(s.dir, name, s.buf)
	switch {
	case errors.Is(err, unix.ENOENT):
	case isLast:
		s.readLast(strings.TrimPrefix(name, lastPrefix), b)
	case errors.Is(err, errNotRegular):
		s.setAside(addr, mark, true)
	case err != nil:
		return err
	case addr.String() != name || addr.Is4In6() || addr.Zone() != "":
		// host-local would write another name, and never finds this one.
		s.setAside(addr, mark, true)
	default:
		att, err := parseContent(b)
		if err != nil {
			s.setAside(addr, mark, false)
			return nil
		}
		h := record.Holder{Attachment: att, Origin: record.OriginHostLocal, Mark: mark}
		s.Entries = append(s.Entries, form.Entry{Addr: addr, Holder: h})
	}
	return nil
}

func (s *scan) setAside(addr netip.Addr, mark string, fixed bool) {
	s.SetAside = append(s.SetAside, form.Aside{Addr: addr.WithZone("").Unmap(), Mark: mark, Fixed: fixed})
}

// readLast reads a cursor; what is none is passed over: it is a hint.
func (s *scan) readLast(set string, b []byte) {
	n, err := strconv.Atoi(set)
	addr, addrErr := netip.ParseAddr(string(b))
	if err != nil || addrErr != nil || n < 0 {
		return
	}
	if s.Last == nil {
		s.Last = map[int]netip.Addr{}
	}
	s.Last[n] = addr
}

var errNotRegular = errors.New("not a regular file")

// readAt reads up to len(buf) bytes of a file, with system calls alone: the
// directory of a full /16 has 65,000 files, which are read in each call.
func readAt(dir int, name string, buf []byte) ([]byte, string, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		mark, err := markAt(dir, name)
		return nil, mark, errors.Join(errNotRegular, err)
	}
	if err != nil {
		return nil, "", err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, markOf(&st), errNotRegular
	}
	n := 0
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		if m == 0 {
			break
		}
		n += m
	}
	return buf[:n], markOf(&st), nil
}

// markOf tells a file from another of the same name and content. Inodes are
// used again at once on ext4, thus the change time.
func markOf(st *unix.Stat_t) string {
	b := strconv.AppendUint(make([]byte, 0, 40), st.Ino, 10)
	return string(strconv.AppendInt(append(b, ':'), st.Ctim.Nano(), 10))
}

// markAt returns the mark of a name, "" where it is not there.
func markAt(dir int, name string) (string, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return markOf(&st), nil
}
