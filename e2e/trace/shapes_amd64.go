package trace

import "golang.org/x/sys/unix"

// architectureShapes are the calls that newer architectures do without.
var architectureShapes = map[uint64]shape{
	unix.SYS_OPEN:       {name: "open", path: 1, flags: 2, mode: 3, opens: true},
	unix.SYS_CREAT:      {name: "creat", path: 1, mode: 2, opens: true},
	unix.SYS_RENAME:     {name: "rename", path: 1, path2: 2},
	unix.SYS_RENAMEAT:   {name: "renameat", dir: 1, path: 2, dir2: 3, path2: 4},
	unix.SYS_LINK:       {name: "link", path: 1, path2: 2},
	unix.SYS_SYMLINK:    {name: "symlink", path: 2, makes: true},
	unix.SYS_UNLINK:     {name: "unlink", path: 1},
	unix.SYS_RMDIR:      {name: "rmdir", path: 1},
	unix.SYS_MKDIR:      {name: "mkdir", path: 1, mode: 2, makes: true},
	unix.SYS_MKNOD:      {name: "mknod", path: 1, mode: 2, makes: true},
	unix.SYS_CHMOD:      {name: "chmod", path: 1, mode: 2},
	unix.SYS_CHOWN:      {name: "chown", path: 1},
	unix.SYS_LCHOWN:     {name: "lchown", path: 1},
	unix.SYS_UTIME:      {name: "utime", path: 1},
	unix.SYS_UTIMES:     {name: "utimes", path: 1},
	unix.SYS_FUTIMESAT:  {name: "futimesat", dir: 1, path: 2},
	unix.SYS_STAT:       {name: "stat", path: 1},
	unix.SYS_LSTAT:      {name: "lstat", path: 1},
	unix.SYS_NEWFSTATAT: {name: "newfstatat", dir: 1, path: 2, flags: 4},
	unix.SYS_ACCESS:     {name: "access", path: 1, mode: 2},
	unix.SYS_READLINK:   {name: "readlink", path: 1},
	unix.SYS_GETDENTS:   {name: "getdents", fd: 1, length: 3},
}
