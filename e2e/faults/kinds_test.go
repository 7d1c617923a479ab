package faults

import (
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/e2e/trace"
)

// fault is one way in which the call at a point fails.
type fault struct {
	point
	how string
	trace.Effect
	lasting func(*trace.Call) trace.Effect // of the calls on the network's files that follow
}

func (f fault) String() string { return f.point.String() + ", " + f.how }

// hook is the fault as it happens to one call of bolt-local.
func (f fault) hook(n network) trace.Hook {
	later := func(c *trace.Call) trace.Effect {
		if f.lasting == nil || n.file(c) == "" {
			return trace.Effect{}
		}
		return f.lasting(c)
	}
	return trace.Fault{Match: f.match(n), Nth: f.nth, Effect: f.Effect, Later: later}.Hook()
}

// spoilsTidying tells whether the fault can leave what stands beside host-local's
// directory: it cannot be removed, or it is not known that the swap is durable.
func (f fault) spoilsTidying() bool {
	return f.lasting != nil || f.file == "networks" || strings.Contains(f.file, "networks/.bolt-local-")
}

// What a kind of system call fails with. Each also fails with EIO: a file system
// has to read what is not in memory.
var (
	denied      = []syscall.Errno{unix.EIO, unix.EACCES}
	interrupted = []syscall.Errno{unix.EIO, unix.EINTR}
	writing     = []syscall.Errno{unix.EIO, unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EINTR}
	naming      = []syscall.Errno{unix.EIO, unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EACCES}

	opening = []syscall.Errno{unix.EIO, unix.EACCES, unix.EINTR}
)

var errnos = map[string][]syscall.Errno{
	"newfstatat": denied, "statx": denied, "faccessat": denied, "faccessat2": denied, "readlinkat": denied, "statfs": denied,
	"fstat": {unix.EIO}, "fstatfs": {unix.EIO}, "getdents64": {unix.EIO}, "lseek": {unix.EIO}, "fcntl": {unix.EIO}, "mmap": denied,
	"read": interrupted, "pread64": interrupted,
	"close": {unix.EIO, unix.ENOSPC, unix.EDQUOT, unix.EINTR},
	"flock": {unix.EIO, unix.ENOLCK, unix.EINTR},

	"write": writing, "pwrite64": writing, "fsync": writing, "fdatasync": writing,
	"ftruncate": writing, "truncate": writing, "fallocate": writing,

	"renameat": naming, "renameat2": naming, "linkat": naming, "unlinkat": naming, "mkdirat": naming,
	"fchmod": {unix.EIO, unix.EROFS}, "fchmodat": {unix.EIO, unix.EROFS, unix.EACCES},
}

// errnosOf are those of one call; none where the kind is not known.
func errnosOf(c *trace.Call) []syscall.Errno {
	if c.Name != "openat" {
		return errnos[c.Name]
	}
	all := opening
	if c.Writable() {
		all = append(all[:len(all):len(all)], unix.EROFS)
	}
	if makesFile(c) {
		all = append(all[:len(all):len(all)], unix.ENOSPC, unix.EDQUOT)
	}
	return all
}

func makesFile(c *trace.Call) bool {
	return c.Flags&unix.O_CREAT != 0 || c.Flags&unix.O_TMPFILE == unix.O_TMPFILE
}

// faults are all ways in which the call at a point fails.
func (p point) faults() []fault {
	var all []fault
	add := func(how string, e trace.Effect, lasting func(*trace.Call) trace.Effect) {
		all = append(all, fault{p, how, e, lasting})
	}
	for _, errno := range errnosOf(&p.like) {
		add(unix.ErrnoName(errno), trace.Effect{Errno: errno, Executed: p.call == "close"}, nil)
	}
	add("EIO from then on", failing(&p.like), failing)
	if p.onFullDisk {
		add("a full disk", trace.Effect{Errno: unix.ENOSPC}, fullDisk)
	}
	if p.overQuota {
		add("a quota", trace.Effect{Errno: unix.EDQUOT}, quotaReached)
	}
	if e := readOnly(&p.like); e.Errno != 0 {
		add("a read-only disk", e, readOnly)
	}
	if half := len(p.like.Data) / 2; half > 0 {
		add("a short write", trace.Effect{Short: half}, nil)
		add("a full disk after a short write", trace.Effect{Short: half}, fullDisk)
	}
	return all
}

// failing is a disk that has gone.
func failing(c *trace.Call) trace.Effect {
	return trace.Effect{Errno: unix.EIO, Executed: c.Name == "close"}
}

// fullDisk is one without a free block. Names need none: directories have room.
func fullDisk(c *trace.Call) trace.Effect {
	needs := false
	switch c.Name {
	case "write", "pwrite64", "fallocate":
		needs = grows(c)
	case "mkdirat":
		needs = c.File == trace.FileID{}
	}
	return ifSo(needs, unix.ENOSPC)
}

// quotaReached: neither a block nor a file more. What is overwritten needs none.
func quotaReached(c *trace.Call) trace.Effect {
	needs := fullDisk(c).Errno != 0
	switch c.Name {
	case "linkat":
		needs = c.NewFile == trace.FileID{}
	case "openat":
		needs = makesFile(c) && c.File == trace.FileID{} || c.Flags&unix.O_TMPFILE == unix.O_TMPFILE
	}
	return ifSo(needs, unix.EDQUOT)
}

func ifSo(fails bool, errno syscall.Errno) trace.Effect {
	if !fails {
		return trace.Effect{}
	}
	return trace.Effect{Errno: errno}
}

// grows tells whether the call, which is about to begin, goes beyond what is
// allocated to its file.
func grows(c *trace.Call) bool {
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", c.Thread, c.FD), &st) != nil {
		return true
	}
	return st.Blocks*512 < c.Offset+c.Length
}

// readOnly is a disk that the kernel has made read-only.
func readOnly(c *trace.Call) trace.Effect {
	refused := false
	switch c.Name {
	case "write", "pwrite64", "fallocate", "ftruncate", "truncate", "renameat", "renameat2", "unlinkat", "fchmod", "fchmodat":
		refused = true
	case "mkdirat":
		refused = c.File == trace.FileID{}
	case "linkat":
		refused = c.NewFile == trace.FileID{}
	case "openat":
		refused = c.Writable()
	}
	return ifSo(refused, unix.EROFS)
}
