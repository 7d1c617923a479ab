package pages

import (
	"bytes"
	"sort"
)

// Descend checks the pages that bbolt reads when it seeks key in the bucket at
// path, from the outermost name, and those beside them that it merges with
// theirs when key is deleted: for files in which Scan would take too long. It
// costs microseconds whatever the size of the file. A key or bucket that is not
// there is no error.
//
// What it finds sound bbolt can seek, put and delete: with a branch page that
// leads back to itself bbolt overflows its stack, from which no process
// recovers. It says nothing of other pages, such as those that a cursor reaches
// from there, nor of what the list of free pages should not have.
func Descend(data []byte, m Meta, path [][]byte, key []byte) error {
	if err := m.within(data); err != nil {
		return err
	}
	f := file{data: data, pageSize: uint64(m.PageSize), end: m.HighWater}
	root := m.Root
	for _, name := range path {
		p, i, found, err := f.seek(root, name)
		if err != nil || !found {
			return err
		}
		flags, at := p.leafElement(i)
		if flags != flagBucket {
			return nil
		}
		b, ok := parseBucket(p.value(at), p.id)
		if !ok || b.root == 0 && !b.inline.whole(f.pageSize) {
			return damaged("page %d: what it has for bucket %q is none", p.id, name)
		}
		if b.root == 0 {
			return nil // no page of its own is left to read
		}
		root = b.root
	}
	_, _, _, err := f.seek(root, key)
	return err
}

// seek descends from root to the leaf where key is or would be, at element i.
func (f *file) seek(root uint64, key []byte) (p page, i uint64, found bool, err error) {
	p, err = f.wholePage(root, nil, nil)
	var above []byte // the first key to the right of p, nil at the right edge
	for depth := 1; err == nil; depth++ {
		i, found = p.search(key)
		if p.leaf {
			return p, i, found, nil
		}
		if depth == maxDepth {
			return p, 0, false, damaged("page %d is a branch at level %d", p.id, depth)
		}
		if !found && i > 0 {
			i--
		}
		beside := i + 1
		if i > 0 {
			beside = i - 1
		}
		var child, neighbour page
		if neighbour, err = f.childOf(&p, beside, above); err != nil {
			break
		}
		if child, err = f.childOf(&p, i, above); err != nil {
			break
		}
		if child.leaf != neighbour.leaf {
			return p, 0, false, damaged("page %d leads to branch and leaf", p.id)
		}
		if i+1 < p.count {
			_, at := p.branchElement(i + 1)
			above = p.key(at)
		}
		p = child
	}
	return page{}, 0, false, err
}

// childOf returns the page to which element i of p leads, where the keys to the
// right of p begin with above.
func (f *file) childOf(p *page, i uint64, above []byte) (page, error) {
	id, at := p.branchElement(i)
	if i+1 < p.count {
		_, next := p.branchElement(i + 1)
		above = p.key(next)
	}
	return f.wholePage(id, p.key(at), above)
}

// wholePage returns a page that is sound in itself, begins with the key first
// and ends before the key above, where these are not nil.
func (f *file) wholePage(id uint64, first, above []byte) (page, error) {
	p, err := f.page(id)
	if err != nil {
		return page{}, err
	}
	if !p.whole(f.pageSize) {
		return page{}, damaged("page %d: an element is not in its place, or out of order", id)
	}
	if first != nil && !p.beginsWith(first) {
		return page{}, damaged("page %d does not begin with the key that led to it", id)
	}
	if above != nil && p.count > 0 && bytes.Compare(p.keyOf(p.count-1), above) >= 0 {
		return page{}, damaged("page %d does not end before the one behind it", id)
	}
	return p, nil
}

// keyOf is the key of element i of a whole page.
func (p *page) keyOf(i uint64) []byte {
	_, at := p.branchElement(i)
	if p.leaf {
		_, at = p.leafElement(i)
	}
	return p.key(at)
}

// search returns the first element of a whole page whose key is key or behind
// it.
func (p *page) search(key []byte) (i uint64, found bool) {
	n := sort.Search(int(p.count), func(i int) bool { return bytes.Compare(p.keyOf(uint64(i)), key) >= 0 })
	i = uint64(n)
	return i, i < p.count && bytes.Equal(p.keyOf(i), key)
}
