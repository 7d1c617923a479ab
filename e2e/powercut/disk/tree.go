package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Tree is what a file system shows, sorted by path, without its root.
type Tree []File

// File is a file or a directory of a Tree.
type File struct {
	Path  string
	Inode *Inode // nil in a tree that was read
	Dir   bool
	Mode  fs.FileMode
	Bytes []byte
}

// Tree is what the kernel shows now.
func (d *Disk) Tree() Tree {
	return list(d.root,
		func(n *Inode) map[string]*Inode { return n.names },
		func(n *Inode) []byte { return n.bytes })
}

// Tree is what is found after the cut with this outcome.
func (c Cut) Tree(o Outcome) Tree {
	names, sizes, edits := map[*Inode]int{}, map[*Inode]int{}, map[*Inode]map[int]int{}
	for i, p := range c.parts {
		switch p.index {
		case partNames:
			names[p.of] = o[i]
		case partSizes:
			sizes[p.of] = o[i]
		default:
			if edits[p.of] == nil {
				edits[p.of] = map[int]int{}
			}
			edits[p.of][p.index] = o[i]
		}
	}
	return list(c.disk.root,
		func(n *Inode) map[string]*Inode {
			found := maps.Clone(n.durable.names)
			for _, r := range n.renames[:names[n]] {
				r.apply(found)
			}
			return found
		},
		func(n *Inode) []byte {
			return n.content(sizes[n], func(edit int) int { return edits[n][edit] })
		})
}

func list(root *Inode, names func(*Inode) map[string]*Inode, bytes func(*Inode) []byte) Tree {
	var t Tree
	var visit func(*Inode, string)
	visit = func(dir *Inode, path string) {
		children := names(dir)
		for _, name := range slices.Sorted(maps.Keys(children)) {
			n := children[name]
			f := File{Path: filepath.Join(path, name), Inode: n, Dir: n.Dir, Mode: n.Mode}
			if !n.Dir {
				f.Bytes = bytes(n)
			}
			t = append(t, f)
			if n.Dir {
				visit(n, f.Path)
			}
		}
	}
	visit(root, "")
	return t
}

// Find returns the file at a path.
func (t Tree) Find(path string) (File, bool) {
	i := slices.IndexFunc(t, func(f File) bool { return f.Path == path })
	if i < 0 {
		return File{}, false
	}
	return t[i], true
}

// Sum digests paths, kinds, modes and bytes.
func (t Tree) Sum() string {
	h := sha256.New()
	for _, f := range t {
		fmt.Fprintf(h, "%q %v %o %d\n", f.Path, f.Dir, f.Mode, len(f.Bytes))
		h.Write(f.Bytes)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// WriteTo makes the tree below root, which is there and is emptied first. Files
// of one inode become links of each other.
func (t Tree) WriteTo(root string) error {
	old, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range old {
		if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
			return err
		}
	}
	written := map[*Inode]string{}
	for _, f := range t {
		path := filepath.Join(root, f.Path)
		switch first := written[f.Inode]; {
		case f.Dir:
			err = os.Mkdir(path, f.Mode)
		case first != "" && f.Inode != nil:
			err = os.Link(first, path)
		default:
			written[f.Inode] = path
			err = os.WriteFile(path, f.Bytes, f.Mode)
		}
		if err == nil {
			err = os.Chmod(path, f.Mode) // whatever the umask
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Read returns what is below root: directories and regular files alone.
func Read(root string) (Tree, error) {
	var t Tree
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		f := File{Dir: e.IsDir(), Mode: info.Mode().Perm()}
		if f.Path, err = filepath.Rel(root, path); err != nil {
			return err
		}
		switch {
		case info.Mode().IsRegular():
			f.Bytes, err = os.ReadFile(path)
		case !e.IsDir():
			err = errors.New(path + " is neither a file nor a directory")
		}
		t = append(t, f)
		return err
	})
	return t, err
}

// Load is the disk of a node that was shut down: all below root is durable.
// Names of one inode become different files.
func Load(root string) (*Disk, error) {
	t, err := Read(root)
	if err != nil {
		return nil, err
	}
	d := New()
	for _, f := range t {
		if f.Dir {
			err = d.Mkdir(f.Path, f.Mode)
		} else {
			var n *Inode
			if n, err = d.Create(f.Path, f.Mode); err == nil {
				n.write(0, f.Bytes)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	d.SyncAll()
	return d, nil
}
