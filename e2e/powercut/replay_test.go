package powercut

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/e2e/powercut/disk"
	"github.com/bolt-local/bolt-local/e2e/trace"
)

// replay does to a model of the disk what the traced processes did to the files
// below root.
type replay struct {
	root   string
	disk   *disk.Disk
	inodes map[trace.FileID]*disk.Inode
}

// newReplay begins with the files that are there, all durable.
func newReplay(root string) (*replay, error) {
	d, err := disk.Load(root)
	if err != nil {
		return nil, err
	}
	r := &replay{root: root, disk: d, inodes: map[trace.FileID]*disk.Inode{}}
	err = r.each(func(_ string, st *syscall.Stat_t, n *disk.Inode) error {
		r.inodes[trace.FileID{Device: uint64(st.Dev), Inode: st.Ino}] = n
		return nil
	})
	return r, err
}

// each calls fn with every file below root and what the model has there.
func (r *replay) each(fn func(path string, st *syscall.Stat_t, n *disk.Inode) error) error {
	return filepath.WalkDir(r.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, _ := r.below(path)
		n := r.disk.Lookup(name)
		if n == nil {
			return fmt.Errorf("%s is there, and no recorded call has made it", path)
		}
		return fn(name, info.Sys().(*syscall.Stat_t), n)
	})
}

// below returns a path relative to root, and whether it is there or below.
func (r *replay) below(path string) (string, bool) {
	name, err := filepath.Rel(r.root, path)
	return name, err == nil && name != ".." && !strings.HasPrefix(name, "../")
}

// apply does one call, and reports whether that has changed or synced anything
// below root. A call that changes files in a way that has no rule is an error.
func (r *replay) apply(c trace.Call) (changed bool, err error) {
	switch c.Name {
	case "sync", "io_uring_setup": // of no file
		return true, fmt.Errorf("no rule is known for %s", c.Name)
	}
	path, ours := r.below(c.Path)
	if n := r.inodes[c.File]; n != nil {
		ours = true // by whatever name: one without any, or /proc/self/fd
	}
	if !ours || c.Errno != 0 {
		return false, nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s of %s: %w", c.Name, c.Path, err)
		}
	}()
	switch c.Name {
	case "openat", "creat", "openat2":
		return r.open(c, path)
	case "mkdirat", "mkdir":
		err = r.disk.Mkdir(path, fs.FileMode(c.Mode&^0o022))
		r.inodes[c.File] = r.disk.Lookup(path)
		return true, err
	case "linkat", "link", "renameat", "renameat2", "rename", "unlinkat", "unlink", "rmdir":
		return true, r.name(c, path)
	case "syncfs", "msync", "copy_file_range", "sendfile", "splice", "symlinkat", "symlink", "mknodat", "mknod":
		return true, errors.New("no rule is known for it")
	case "mmap":
		if c.Mode&unix.PROT_WRITE != 0 && c.Flags&unix.MAP_PRIVATE == 0 {
			return true, errors.New("what is written to a mapping cannot be recorded")
		}
		return false, nil
	}
	return r.content(c)
}

func (r *replay) open(c trace.Call, path string) (bool, error) {
	switch {
	case c.Flags&unix.O_TMPFILE == unix.O_TMPFILE:
		r.inodes[c.File] = r.disk.Unnamed(fs.FileMode(c.Mode &^ 0o022))
		return false, nil // nothing leads to it yet
	case c.Flags&unix.O_CREAT != 0 && r.disk.Lookup(path) == nil:
		n, err := r.disk.Create(path, fs.FileMode(c.Mode&^0o022))
		r.inodes[c.File] = n
		return true, err
	case c.Flags&unix.O_TRUNC != 0 && c.Writable():
		r.disk.Truncate(r.inodes[c.File], 0)
		return true, nil
	}
	return false, nil
}

func (r *replay) name(c trace.Call, path string) error {
	to, _ := r.below(c.NewPath)
	switch c.Name {
	case "linkat", "link":
		return r.disk.Link(r.inodes[c.File], to)
	case "unlinkat", "unlink", "rmdir":
		return r.disk.Unlink(path)
	}
	if c.Flags&^(unix.RENAME_EXCHANGE|unix.RENAME_NOREPLACE) != 0 {
		return fmt.Errorf("flags %#x are not known", c.Flags)
	}
	return r.disk.Rename(path, to, c.Flags&unix.RENAME_EXCHANGE != 0)
}

// content is for calls on what a file holds, by its descriptor or its name.
func (r *replay) content(c trace.Call) (bool, error) {
	n := r.inodes[c.File]
	switch c.Name {
	case "write", "pwrite64", "writev", "pwritev", "pwritev2":
		r.disk.Write(n, int(c.Offset), c.Data[:c.Result])
	case "ftruncate", "truncate":
		r.disk.Truncate(n, int(c.Length))
	case "fallocate":
		switch c.Flags {
		case 0:
			r.disk.Allocate(n, int(c.Offset+c.Length))
		case unix.FALLOC_FL_KEEP_SIZE:
			return false, nil
		default:
			return true, fmt.Errorf("mode %#x is not known", c.Flags)
		}
	case "fsync", "fdatasync":
		r.disk.Sync(n)
	case "fchmod", "fchmodat", "fchmodat2", "chmod":
		n.Mode = fs.FileMode(c.Mode).Perm()
	default:
		return false, nil // it reads
	}
	return true, nil
}

// faithful holds the model against the files that are there: a change that was
// not recorded would show.
func (r *replay) faithful() error {
	want, err := disk.Read(r.root)
	if err != nil {
		return err
	}
	got := r.disk.Tree()
	if got.Sum() == want.Sum() {
		return nil
	}
	for _, f := range want {
		if g, ok := got.Find(f.Path); !ok || g.Dir != f.Dir || g.Mode != f.Mode || string(g.Bytes) != string(f.Bytes) {
			return fmt.Errorf("the recorded calls do not lead to %s, mode %v, %d bytes", f.Path, f.Mode, len(f.Bytes))
		}
	}
	for _, f := range got {
		if _, err := os.Lstat(filepath.Join(r.root, f.Path)); err != nil {
			return fmt.Errorf("the recorded calls lead to %s, which is not there", f.Path)
		}
	}
	return nil
}
