package hostlocal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// Look implements [form.Old]. Its place is the inode of the directory and the
// identity of the lock file: whoever wipes the directory replaces one of them.
func (d *Dir) Look() (form.Contents, error) {
	c, err := lookAt(d.path)
	if errors.Is(err, unix.ENOTDIR) {
		return d.lookAtTombstone()
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
		return form.Contents{}, errLink(path)
	case err != nil:
		return form.Contents{}, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return form.Contents{}, err
	}
	return readAll(dir, names)
}

// readAll reads the named files of a directory. Their order makes no difference.
func readAll(dir *os.File, names []string) (form.Contents, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return form.Contents{}, fmt.Errorf("%s: %w", dir.Name(), err)
	}
	all := form.Contents{Exists: true, Bare: true}
	lock := ""
	scans, err := inParts(names, func(names []string) (scan, error) { return readSome(dir, names) })
	if err != nil {
		return form.Contents{}, err
	}
	var entries [][]form.Entry
	for _, s := range scans {
		entries = append(entries, s.entries)
		all.Bare = all.Bare && s.bare
		all.SetAside = append(all.SetAside, s.setAside...)
		lock = cmp.Or(lock, s.lock)
		if all.Last == nil {
			all.Last = s.last
		} else {
			maps.Copy(all.Last, s.last)
		}
	}
	all.Place = strconv.FormatUint(st.Ino, 10) + "/" + lock
	all.Entries = form.Sorted(entries...)
	slices.SortFunc(all.SetAside, compareAside)
	return all, nil
}

// readSome reads the named files of a directory.
func readSome(dir *os.File, names []string) (scan, error) {
	s := scan{dir: int(dir.Fd()), buf: make([]byte, usualContent), bare: true}
	s.entries = make([]form.Entry, 0, len(names))
	for _, name := range names {
		var err error
		if name == lockName {
			s.lock, err = markAt(s.dir, name)
		} else {
			s.bare = false
			err = s.read(name)
		}
		if err != nil {
			return scan{}, fmt.Errorf("%s/%s: %w", dir.Name(), name, err)
		}
	}
	return s, nil
}

// compareAside has no ties: an address can be written in more than one way, also
// for one file that has several names.
func compareAside(a, b form.Aside) int {
	return cmp.Or(a.Addr.Compare(b.Addr), cmp.Compare(a.Mark, b.Mark), cmp.Compare(a.Name, b.Name))
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

func errLink(path string) error {
	return fmt.Errorf("%s %w: put the directory itself there, or remove the link in phase contract", path, form.ErrLink)
}

// scan is what some files of a directory say.
type scan struct {
	dir int
	buf []byte

	bare     bool // only the lock is there
	lock     string
	entries  []form.Entry
	setAside []form.Aside
	last     map[int]netip.Addr
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
		s.aside(addr, name, mark, true)
	case err != nil:
		return err
	case !canonical(addr, name):
		// host-local would write another name, and never finds this one.
		s.aside(addr, name, mark, true)
	default:
		att, err := parseContent(b)
		if err != nil {
			s.aside(addr, name, mark, false)
			return nil
		}
		h := record.Holder{Attachment: att, Origin: record.OriginHostLocal, Mark: mark}
		s.entries = append(s.entries, form.Entry{Addr: addr, Holder: h})
	}
	return nil
}

// canonical: it is the name that host-local gives the file of this address.
func canonical(addr netip.Addr, name string) bool {
	return addr.String() == name && !addr.Is4In6() && addr.Zone() == ""
}

// aside is stored as JSON, in which a name is valid UTF-8.
func (s *scan) aside(addr netip.Addr, name, mark string, fixed bool) {
	a := form.Aside{Addr: addr.WithZone("").Unmap(), Mark: mark, Fixed: fixed}
	if name != a.Addr.String() {
		a.Name = strings.ToValidUTF8(name, "\uFFFD")
	}
	s.setAside = append(s.setAside, a)
}

// readLast reads a cursor as host-local does; what is none is passed over: it
// is a hint.
func (s *scan) readLast(set string, b []byte) {
	n, err := strconv.Atoi(set)
	addr, addrErr := netip.ParseAddr(string(b))
	if err != nil || addrErr != nil || n < 0 || strconv.Itoa(n) != set || addr.Zone() != "" {
		return
	}
	if s.last == nil {
		s.last = map[int]netip.Addr{}
	}
	s.last[n] = addr.Unmap()
}

var errNotRegular = errors.New("not a regular file")

// readAt reads a file, of a longer one a byte more than maxContent, with system
// calls alone: the directory of a full /16 has 65,000 files, which are read in
// each call. What fits there is in buf.
func readAt(dir int, name string, buf []byte) ([]byte, string, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	for err == unix.EINTR { // a network's file system
		fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	}
	if err != nil {
		mark, err := notOpened(dir, name, err)
		return nil, mark, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, "", err
	}
	if !isRegular(&st) {
		return nil, markOf(&st), errNotRegular
	}
	if size := min(st.Size, maxContent+1); size > int64(len(buf)) {
		buf = make([]byte, size)
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
		n += m
		if m == 0 || int64(n) >= st.Size { // a read the less for each file
			break
		}
	}
	return buf[:n], markOf(&st), nil
}

// notOpened tells why a file could not be opened. A link, a socket, and a device
// that is not there never can.
func notOpened(dir int, name string, openErr error) (mark string, err error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return "", err
	}
	if isRegular(&st) {
		return "", openErr
	}
	return markOf(&st), errNotRegular
}

func isRegular(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFREG }

// markOf tells a file from another of the same name and content. Inodes are
// used again at once on ext4, thus the change time.
func markOf(st *unix.Stat_t) string {
	b := strconv.AppendUint(make([]byte, 0, 40), st.Ino, 10)
	return string(strconv.AppendInt(append(b, ':'), st.Ctim.Nano(), 10))
}

// Changed implements [form.Old].
func (d *Dir) Changed(mark string) time.Time {
	_, text, _ := strings.Cut(mark, ":")
	ns, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(0, ns)
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
