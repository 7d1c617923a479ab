package disk

import (
	"io/fs"
	"maps"
	"slices"
)

// Inode is a file or a directory, whatever its names.
type Inode struct {
	// ID tells it from all others of its Disk, in the order in which they came.
	ID   int
	Dir  bool
	Mode fs.FileMode

	names map[string]*Inode // of a directory, as the kernel shows them
	bytes []byte            // of a file, likewise

	durable struct {
		names map[string]*Inode
		bytes []byte
	}
	renames []naming // of a directory since its last sync
	edits   []edit   // of a file since its last sync
}

// naming is one change of a directory: what its names lead to, nil for nothing.
type naming map[string]*Inode

func (n naming) apply(names map[string]*Inode) {
	for name, to := range n {
		if to == nil {
			delete(names, name)
		} else {
			names[name] = to
		}
	}
}

// edit is one change of a file's bytes, of its size, or of both.
type edit struct {
	off  int
	data []byte // written at off
	// size is the file's size afterwards, where that is another: -1 where not.
	size int
	cuts bool // the size is a smaller one
}

func (f *Inode) write(off int, data []byte) {
	e := edit{off: off, data: slices.Clone(data), size: -1}
	if end := off + len(data); end > len(f.bytes) {
		e.size = end
	}
	f.edit(e)
}

func (f *Inode) resize(size int) {
	if size != len(f.bytes) {
		f.edit(edit{size: size, cuts: size < len(f.bytes)})
	}
}

func (f *Inode) edit(e edit) {
	if e.size >= 0 {
		f.bytes = resized(f.bytes, e.size)
	}
	copy(f.bytes[min(e.off, len(f.bytes)):], e.data)
	f.edits = append(f.edits, e)
}

func (f *Inode) rename(n naming) {
	n.apply(f.names)
	f.renames = append(f.renames, n)
}

// sync makes durable what the kernel shows of it.
func (f *Inode) sync() {
	f.durable.names, f.durable.bytes = maps.Clone(f.names), slices.Clone(f.bytes)
	f.renames, f.edits = nil, nil
}

// resized returns b with another length, in memory of its own.
func resized(b []byte, size int) []byte {
	r := make([]byte, size)
	copy(r, b)
	return r
}
