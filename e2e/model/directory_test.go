package model

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/record"
)

// directory is what stands in the place of host-local's directory.
type directory struct {
	there     bool   // a directory
	tombstone string // the text of the file that stands there instead
	place     string // "<inode>/<identity of the lock file>"
	files     map[netip.Addr]file
	last      map[int]netip.Addr // last_reserved_ip.<n>
	junk      []string           // what neither host-local nor bolt-local should have left
}

// file is one reservation.
type file struct {
	content string
	mark    string // its identity, "<inode>:<change time in ns>"
}

// bare: there is nothing in it, or a lock alone.
func (d directory) bare() bool { return len(d.files)+len(d.last)+len(d.junk) == 0 }

// holds tells whether there is a directory with something in it.
func (d directory) holds() bool { return d.there && !d.bare() }

// identity is the mark of what path leads to.
func identity(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d:%d", st.Ino, st.Ctim.Nano()), nil
}

// readDirectory reads host-local's directory.
func readDirectory(path string) (directory, error) {
	var d directory
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d, nil
	case err != nil:
		return d, err
	case st.Mode&unix.S_IFMT == unix.S_IFREG:
		b, err := os.ReadFile(path)
		d.tombstone = string(b)
		return d, err
	}
	d.there, d.files, d.last = true, map[netip.Addr]file{}, map[int]netip.Addr{}
	entries, err := os.ReadDir(path)
	if err != nil {
		return d, err
	}
	lock := ""
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(path, e.Name()))
		if err != nil {
			return d, err
		}
		mark, err := identity(filepath.Join(path, e.Name()))
		if err != nil {
			return d, err
		}
		set, isLast := strings.CutPrefix(e.Name(), "last_reserved_ip.")
		switch addr, err := netip.ParseAddr(e.Name()); {
		case err == nil:
			d.files[addr] = file{string(b), mark}
		case e.Name() == "lock":
			lock = mark
		case isLast:
			d.readLast(set, string(b))
		default:
			d.junk = append(d.junk, e.Name())
		}
	}
	d.place = fmt.Sprintf("%d/%s", st.Ino, lock)
	return d, nil
}

func (d directory) readLast(set, text string) {
	n, err := strconv.Atoi(set)
	addr, addrErr := netip.ParseAddr(text)
	if err == nil && addrErr == nil {
		d.last[n] = addr
	}
}

// content is the bytes that host-local writes for an attachment.
func content(att record.Attachment) string { return att.ContainerID + "\r\n" + att.IfName }

// holder is the attachment that a file of these bytes names.
func holder(content string) record.Attachment {
	id, ifname, _ := strings.Cut(content, "\r\n")
	return record.Attachment{ContainerID: id, IfName: ifname}
}

// waitForTick waits until a file that is written now gets another change time
// than all before. The kernel's clock for them moves every few milliseconds;
// what is wiped and made anew within one is not what happens to a node.
func waitForTick() error {
	coarse := func() (int64, error) {
		var ts unix.Timespec
		err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts)
		return ts.Nano(), err
	}
	start, err := coarse()
	for now := start; err == nil && now == start; now, err = coarse() {
		if err := unix.Nanosleep(&unix.Timespec{Nsec: 200_000}, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return err
}
