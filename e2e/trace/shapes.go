package trace

import "golang.org/x/sys/unix"

// shape says what the arguments of a system call are, by their numbers from 1
// on; 0 is none.
type shape struct {
	name        string
	fd          argument // the descriptor that it is made on
	dir, path   argument // a path, and the descriptor that it begins at
	dir2, path2 argument // a rename's or link's second path
	flags, mode argument
	offset      argument // in bytes
	length      argument // in bytes; the number of vectors with iov
	data        argument // what is written: length bytes, or vectors with iov
	iov         bool
	opens       bool // returns a descriptor
	makes       bool // makes the file at its path
}

type argument int8

// shapes are the system calls that touch files, by number. What only some
// architectures have stands in their files.
var shapes = func() map[uint64]shape {
	all := map[uint64]shape{
		unix.SYS_OPENAT:  {name: "openat", dir: 1, path: 2, flags: 3, mode: 4, opens: true},
		unix.SYS_OPENAT2: {name: "openat2", dir: 1, path: 2, opens: true},
		unix.SYS_CLOSE:   {name: "close", fd: 1},

		unix.SYS_READ:       {name: "read", fd: 1, length: 3},
		unix.SYS_PREAD64:    {name: "pread64", fd: 1, length: 3, offset: 4},
		unix.SYS_READV:      {name: "readv", fd: 1, length: 3, iov: true},
		unix.SYS_PREADV:     {name: "preadv", fd: 1, length: 3, offset: 4, iov: true},
		unix.SYS_PREADV2:    {name: "preadv2", fd: 1, length: 3, offset: 4, iov: true},
		unix.SYS_GETDENTS64: {name: "getdents64", fd: 1, length: 3},
		unix.SYS_LSEEK:      {name: "lseek", fd: 1, offset: 2},

		unix.SYS_WRITE:           {name: "write", fd: 1, data: 2, length: 3},
		unix.SYS_PWRITE64:        {name: "pwrite64", fd: 1, data: 2, length: 3, offset: 4},
		unix.SYS_WRITEV:          {name: "writev", fd: 1, data: 2, length: 3, iov: true},
		unix.SYS_PWRITEV:         {name: "pwritev", fd: 1, data: 2, length: 3, offset: 4, iov: true},
		unix.SYS_PWRITEV2:        {name: "pwritev2", fd: 1, data: 2, length: 3, offset: 4, iov: true},
		unix.SYS_COPY_FILE_RANGE: {name: "copy_file_range", fd: 3, length: 5, flags: 6},
		unix.SYS_SENDFILE:        {name: "sendfile", fd: 1, length: 4},
		unix.SYS_SPLICE:          {name: "splice", fd: 3, length: 5, flags: 6},
		unix.SYS_FTRUNCATE:       {name: "ftruncate", fd: 1, length: 2},
		unix.SYS_TRUNCATE:        {name: "truncate", path: 1, length: 2},
		unix.SYS_FALLOCATE:       {name: "fallocate", fd: 1, flags: 2, offset: 3, length: 4},

		unix.SYS_FSYNC:           {name: "fsync", fd: 1},
		unix.SYS_FDATASYNC:       {name: "fdatasync", fd: 1},
		unix.SYS_SYNC_FILE_RANGE: {name: "sync_file_range", fd: 1, offset: 2, length: 3, flags: 4},
		unix.SYS_SYNC:            {name: "sync"},
		unix.SYS_SYNCFS:          {name: "syncfs", fd: 1},
		unix.SYS_MSYNC:           {name: "msync", length: 2, flags: 3},

		unix.SYS_RENAMEAT2: {name: "renameat2", dir: 1, path: 2, dir2: 3, path2: 4, flags: 5},
		unix.SYS_LINKAT:    {name: "linkat", dir: 1, path: 2, dir2: 3, path2: 4, flags: 5},
		unix.SYS_SYMLINKAT: {name: "symlinkat", dir: 2, path: 3, makes: true},
		unix.SYS_UNLINKAT:  {name: "unlinkat", dir: 1, path: 2, flags: 3},
		unix.SYS_MKDIRAT:   {name: "mkdirat", dir: 1, path: 2, mode: 3, makes: true},
		unix.SYS_MKNODAT:   {name: "mknodat", dir: 1, path: 2, mode: 3, makes: true},

		unix.SYS_FCHMOD:       {name: "fchmod", fd: 1, mode: 2},
		unix.SYS_FCHMODAT:     {name: "fchmodat", dir: 1, path: 2, mode: 3},
		unix.SYS_FCHMODAT2:    {name: "fchmodat2", dir: 1, path: 2, mode: 3, flags: 4},
		unix.SYS_FCHOWN:       {name: "fchown", fd: 1},
		unix.SYS_FCHOWNAT:     {name: "fchownat", dir: 1, path: 2, flags: 5},
		unix.SYS_UTIMENSAT:    {name: "utimensat", dir: 1, path: 2, flags: 4},
		unix.SYS_SETXATTR:     {name: "setxattr", path: 1},
		unix.SYS_LSETXATTR:    {name: "lsetxattr", path: 1},
		unix.SYS_FSETXATTR:    {name: "fsetxattr", fd: 1},
		unix.SYS_REMOVEXATTR:  {name: "removexattr", path: 1},
		unix.SYS_FREMOVEXATTR: {name: "fremovexattr", fd: 1},

		unix.SYS_FSTAT:      {name: "fstat", fd: 1},
		unix.SYS_STATX:      {name: "statx", dir: 1, path: 2, flags: 3},
		unix.SYS_FACCESSAT:  {name: "faccessat", dir: 1, path: 2, mode: 3},
		unix.SYS_FACCESSAT2: {name: "faccessat2", dir: 1, path: 2, mode: 3, flags: 4},
		unix.SYS_READLINKAT: {name: "readlinkat", dir: 1, path: 2},
		unix.SYS_STATFS:     {name: "statfs", path: 1},
		unix.SYS_FSTATFS:    {name: "fstatfs", fd: 1},

		unix.SYS_FLOCK: {name: "flock", fd: 1, flags: 2},
		unix.SYS_FCNTL: {name: "fcntl", fd: 1, flags: 2},

		// Without a file (MAP_ANONYMOUS) it is not stopped at.
		unix.SYS_MMAP: {name: "mmap", length: 2, mode: 3, flags: 4, fd: 5, offset: 6},
		// What goes through a ring is seen by nobody else.
		unix.SYS_IO_URING_SETUP: {name: "io_uring_setup"},
	}
	for number, s := range architectureShapes {
		all[number] = s
	}
	return all
}()
