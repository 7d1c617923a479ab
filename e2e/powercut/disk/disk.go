package disk

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Disk is a tree of files, and what of it is durable. Paths are relative to its
// root and have no links in them.
type Disk struct {
	root *Inode
	last int // ID of the newest inode
}

// New is a disk with an empty root.
func New() *Disk {
	d := &Disk{}
	d.root = d.inode(true, 0o755)
	return d
}

func (d *Disk) inode(dir bool, mode fs.FileMode) *Inode {
	d.last++
	n := &Inode{ID: d.last, Dir: dir, Mode: mode.Perm()}
	if dir {
		n.names, n.durable.names = map[string]*Inode{}, map[string]*Inode{}
	}
	return n
}

// Lookup returns what the kernel shows at path, nil for nothing.
func (d *Disk) Lookup(path string) *Inode {
	n := d.root
	for name := range strings.SplitSeq(filepath.Clean(path), "/") {
		if name == "." {
			continue
		}
		if n == nil || !n.Dir {
			return nil
		}
		n = n.names[name]
	}
	return n
}

// place returns the directory of path and the name in it.
func (d *Disk) place(path string) (*Inode, string, error) {
	dir, name := filepath.Split(filepath.Clean(path))
	parent := d.Lookup(dir)
	if parent == nil || !parent.Dir {
		return nil, "", fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return parent, name, nil
}

// Unnamed makes a file without a name, as O_TMPFILE does.
func (d *Disk) Unnamed(mode fs.FileMode) *Inode { return d.inode(false, mode) }

// Create makes an empty file.
func (d *Disk) Create(path string, mode fs.FileMode) (*Inode, error) {
	f := d.inode(false, mode)
	return f, d.Link(f, path)
}

// Mkdir makes an empty directory.
func (d *Disk) Mkdir(path string, mode fs.FileMode) error {
	return d.Link(d.inode(true, mode), path)
}

// Link gives n one more name.
func (d *Disk) Link(n *Inode, path string) error {
	parent, name, err := d.place(path)
	switch {
	case err != nil:
		return err
	case parent.names[name] != nil:
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	parent.rename(naming{name: n})
	return nil
}

// Unlink removes a name, also that of an empty directory.
func (d *Disk) Unlink(path string) error {
	parent, name, err := d.place(path)
	switch {
	case err != nil:
		return err
	case parent.names[name] == nil:
		return fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	case len(parent.names[name].names) > 0:
		return fmt.Errorf("%s is not empty", path)
	}
	parent.rename(naming{name: nil})
	return nil
}

// Rename moves a name within its directory, over another one if that is there.
// With exchange both change places.
func (d *Disk) Rename(from, to string, exchange bool) error {
	parent, old, err := d.place(from)
	if err != nil {
		return err
	}
	other, name, err := d.place(to)
	switch {
	case err != nil:
		return err
	case other != parent:
		return fmt.Errorf("from %s to %s: no rule is known for a rename between directories", from, to)
	case parent.names[old] == nil || exchange && parent.names[name] == nil:
		return fmt.Errorf("from %s to %s: %w", from, to, fs.ErrNotExist)
	}
	n := naming{name: parent.names[old], old: nil}
	if exchange {
		n[old] = parent.names[name]
	}
	parent.rename(n)
	return nil
}

// Write writes data at off.
func (d *Disk) Write(f *Inode, off int, data []byte) { f.write(off, data) }

// Truncate gives a file another size.
func (d *Disk) Truncate(f *Inode, size int) { f.resize(size) }

// Allocate makes a file at least so long, as fallocate(2) does.
func (d *Disk) Allocate(f *Inode, size int) { f.resize(max(size, len(f.bytes))) }

// Size is the one that the kernel shows.
func (d *Disk) Size(f *Inode) int { return len(f.bytes) }

// Sync makes a file or the names in a directory durable, and nothing else.
func (d *Disk) Sync(n *Inode) { n.sync() }

// SyncAll makes all of it durable, as a node that was shut down has it.
func (d *Disk) SyncAll() {
	for _, n := range d.reachable() {
		n.sync()
	}
}

// reachable lists every inode that has a name or may have had one since the
// last sync, each directory before what is in it and each inode once, in the
// order of their IDs within a directory.
func (d *Disk) reachable() []*Inode {
	var all []*Inode
	seen := map[*Inode]bool{}
	var visit func(*Inode)
	visit = func(n *Inode) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		all = append(all, n)
		for _, child := range n.everNamed() {
			visit(child)
		}
	}
	visit(d.root)
	return all
}
