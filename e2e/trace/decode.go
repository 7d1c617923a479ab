package trace

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// decode reads what the thread is about to do.
func decode(id int, regs *registers) (*call, error) {
	s := shapes[regs.number()]
	c := &call{Call: Call{Name: s.name, Number: regs.number(), Thread: id, FD: -1}}
	for i := range c.Args {
		c.Args[i] = regs.argument(i + 1)
	}
	c.Flags, c.Mode = int(c.argument(s.flags)), int(uint32(c.argument(s.mode)))
	c.Offset, c.Length = int64(c.argument(s.offset)), int64(c.argument(s.length))

	m := memory(id)
	if s.fd > 0 {
		c.FD = int(int32(c.argument(s.fd)))
		c.Path, c.File = m.descriptor(c.FD)
	}
	var err error
	if s.path > 0 {
		if c.Path, err = m.path(&c.Call, s.dir, s.path); err != nil {
			return nil, err
		}
		follow := s.opens || s.name == "linkat" && c.Flags&unix.AT_SYMLINK_FOLLOW != 0
		c.File = m.identity(c.Path, follow)
	}
	if s.path2 > 0 {
		if c.NewPath, err = m.path(&c.Call, s.dir2, s.path2); err != nil {
			return nil, err
		}
		c.NewFile = m.identity(c.NewPath, false)
	}
	if s.data > 0 {
		if c.Data, err = m.data(&c.Call, s); err != nil {
			return nil, err
		}
		c.Length = int64(len(c.Data))
		if s.offset == 0 {
			c.Offset = m.position(c.FD)
		}
	}
	switch c.Name {
	case "creat":
		c.Flags = unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
	case "openat2":
		how, err := m.read(c.Args[2], 16) // of struct open_how
		if err != nil {
			return nil, err
		}
		c.Flags, c.Mode = int(word(how)), int(word(how[8:]))
	}
	return c, nil
}

// identify completes a call that has succeeded.
func identify(id int, c *Call) {
	switch s := shapes[c.Number]; {
	case s.opens:
		c.FD = int(c.Result)
		_, c.File = memory(id).descriptor(c.FD)
	case s.makes:
		c.File = memory(id).identity(c.Path, false)
	}
}

// argument is 0 for one that the call does not have.
func (c *Call) argument(a argument) uint64 {
	if a == 0 {
		return 0
	}
	return c.Args[a-1]
}

// path is a path argument, made absolute. One that is empty means the descriptor
// itself (AT_EMPTY_PATH).
func (m memory) path(c *Call, dir, path argument) (string, error) {
	given, err := m.string(c.argument(path))
	if err != nil || strings.HasPrefix(given, "/") {
		return given, err
	}
	base := ""
	if fd := int(int32(c.argument(dir))); dir == 0 || fd == unix.AT_FDCWD {
		base, _ = os.Readlink(m.proc("cwd"))
	} else {
		base, _ = m.descriptor(fd)
	}
	if given == "" {
		return base, nil
	}
	return base + "/" + given, nil
}

// proc is a file about the thread.
func (m memory) proc(names ...string) string {
	return filepath.Join("/proc", strconv.Itoa(int(m)), filepath.Join(names...))
}

// descriptor is where a descriptor leads, nothing for one that is not open.
func (m memory) descriptor(fd int) (string, FileID) {
	link := m.proc("fd", strconv.Itoa(fd))
	path, err := os.Readlink(link)
	if err != nil {
		return "", FileID{}
	}
	return path, m.identity(link, true)
}

// identity is which file the path leads to.
func (m memory) identity(path string, follow bool) FileID {
	for _, self := range []string{"/proc/self/", "/proc/thread-self/"} { // would be the tracer
		if rest, ok := strings.CutPrefix(path, self); ok {
			path = m.proc(rest)
		}
	}
	var st unix.Stat_t
	stat := unix.Lstat
	if follow {
		stat = unix.Stat
	}
	if stat(path, &st) != nil {
		return FileID{}
	}
	return FileID{Device: uint64(st.Dev), Inode: st.Ino}
}

// position is where a plain write to the descriptor begins.
func (m memory) position(fd int) int64 {
	name := strconv.Itoa(fd)
	info, err := os.ReadFile(m.proc("fdinfo", name))
	if err != nil {
		return 0
	}
	field := map[string]string{}
	for line := range strings.Lines(string(info)) {
		key, value, _ := strings.Cut(line, ":")
		field[key] = strings.TrimSpace(value)
	}
	if flags, _ := strconv.ParseInt(field["flags"], 8, 64); flags&unix.O_APPEND != 0 {
		var st syscall.Stat_t
		if syscall.Stat(m.proc("fd", name), &st) == nil {
			return st.Size
		}
	}
	pos, _ := strconv.ParseInt(field["pos"], 10, 64)
	return pos
}
