package pages

import (
	"bytes"
	"sort"
)

// Descend checks the pages that bbolt reads when it seeks key in the bucket at
// path, outermost name first, and those beside them that it merges with theirs
// when key is deleted. It is for files that are too big to scan at each call:
// it costs microseconds whatever their size. A key or a bucket that is not
// there is no error.
//
// If they are sound, bbolt can get, put or delete key: in a branch page that
// leads back to itself it overflows its stack, from which no process recovers,
// and by a wrong count of overflow pages it frees those of others. Of other
// pages it says nothing, such as those to which a cursor goes on from there.
func Descend(data []byte, m Meta, path [][]byte, key []byte) error {
	if err := m.within(int64(len(data))); err != nil {
		return err
	}
	d := descent{
		file: file{data: data, pageSize: uint64(m.PageSize), end: m.HighWater},
		read: newPageSet(m.HighWater),
		led:  newPageSet(m.HighWater),
	}
	if err := d.bucket(m.Root, append(path[:len(path):len(path)], key)); err != nil {
		return err
	}
	if err := d.ledOnce(); err != nil {
		return err
	}
	_, err := readFreelist(bytes.NewReader(data), m, func(id uint64) error {
		if d.read.has(id) || d.led.has(id) {
			return damaged("page %d is in use and free", id)
		}
		return nil
	})
	return err
}

// ScanBucket is [Scan] of one bucket at the top and of all that is in it: it checks
// their pages, and the way to them as Descend does. One that is not there is no
// error.
func ScanBucket(data []byte, m Meta, name []byte, visit func(path [][]byte, key, value []byte) error) error {
	if err := m.within(int64(len(data))); err != nil {
		return err
	}
	d := descent{
		file: file{data: data, pageSize: uint64(m.PageSize), end: m.HighWater},
		read: newPageSet(m.HighWater),
		led:  newPageSet(m.HighWater),
	}
	p, i, found, err := d.seek(m.Root, name)
	if err != nil || !found {
		return err
	}
	flags, at := p.leafElement(i)
	if flags != flagBucket {
		return damaged("page %d: %q is not a bucket", p.id, name)
	}
	s := scanner{file: d.file, used: d.read, visit: visit}
	return s.bucket(&p, name, p.value(at))
}

// descent is the way from the root page to a key.
type descent struct {
	file
	read     pageSet // pages that were read, with their overflow pages
	led      pageSet // pages to which they lead, and those of them to which no branch does
	branches []page  // those of them that are branches
}

// bucket descends from the root page of a bucket: to names[0], and if more
// follow, into the bucket of that name.
func (d *descent) bucket(root uint64, names [][]byte) error {
	p, i, found, err := d.seek(root, names[0])
	if err != nil || !found {
		return err
	}
	flags, at := p.leafElement(i)
	if flags != flagBucket {
		if p.lostFlag(p.value(at), d.pageSize) {
			return damaged("page %d: %q is not marked as the bucket that it is", p.id, names[0])
		}
		return nil
	}
	b, ok := parseBucket(p.value(at), p.id)
	if !ok || b.root == 0 && !b.inline.whole(d.pageSize) {
		return damaged("page %d: what it has for bucket %q is none", p.id, names[0])
	}
	if b.root == 0 || len(names) == 1 {
		return nil // no page is left to read
	}
	return d.bucket(b.root, names[1:])
}

// seek descends from root to the leaf where key is or would be, at element i.
func (d *descent) seek(root uint64, key []byte) (p page, i uint64, found bool, err error) {
	if p, err = d.page(root, nil, nil); err != nil {
		return page{}, 0, false, err
	}
	d.led.add(root)
	var above []byte // the first key to the right of p, nil at the right edge
	for depth := 1; !p.leaf; depth++ {
		if depth == maxDepth {
			return page{}, 0, false, damaged("page %d is a branch at level %d", p.id, depth)
		}
		if p, above, err = d.step(&p, key, above); err != nil {
			return page{}, 0, false, err
		}
	}
	i, found = p.search(key)
	return p, i, found, nil
}

// step goes from a branch one level down, and looks at the page beside. The keys
// to the right of p begin with above, those to the right of the child with next.
func (d *descent) step(p *page, key, above []byte) (child page, next []byte, err error) {
	i, found := p.search(key)
	if !found && i > 0 {
		i--
	}
	beside := i + 1
	if i > 0 {
		beside = i - 1
	}
	neighbour, _, err := d.child(p, beside, above)
	if err != nil {
		return page{}, nil, err
	}
	child, next, err = d.child(p, i, above)
	if err == nil && child.leaf != neighbour.leaf {
		err = damaged("page %d leads to branch and leaf", p.id)
	}
	return child, next, err
}

// child returns the page to which element i of p leads.
func (d *descent) child(p *page, i uint64, above []byte) (child page, next []byte, err error) {
	if i+1 < p.count {
		above = p.keyOf(i + 1)
	}
	id, at := p.branchElement(i)
	child, err = d.page(id, p.key(at), above)
	return child, above, err
}

// page returns a page that is sound in itself, begins with the key first and
// ends before the key above, where these are not nil.
func (d *descent) page(id uint64, first, above []byte) (page, error) {
	p, err := d.file.page(id)
	if err != nil {
		return page{}, err
	}
	if !p.whole(d.pageSize) {
		return page{}, damaged("page %d: an element is not in its place, or out of order", id)
	}
	if first != nil && !p.beginsWith(first) {
		return page{}, damaged("page %d does not begin with the key that led to it", id)
	}
	if above != nil && p.count > 0 && bytes.Compare(p.keyOf(p.count-1), above) >= 0 {
		return page{}, damaged("page %d does not end before the one behind it", id)
	}
	for i := id; i < id+d.pages(&p); i++ {
		if d.read.has(i) {
			return page{}, damaged("page %d is used twice", i)
		}
		d.read.add(i)
		if i > id {
			d.led.add(i)
		}
	}
	if !p.leaf {
		d.branches = append(d.branches, p)
	}
	return p, nil
}

// ledOnce checks that the elements of the branches lead to a page each. If one
// more led to a page that was read, bbolt would make that a child of its own
// child as it merges.
func (d *descent) ledOnce() error {
	for _, p := range d.branches {
		for i := range p.count {
			child, _ := p.branchElement(i)
			if child < firstPage || child >= d.end || d.led.has(child) {
				return damaged("page %d: element %d leads to page %d, which is none or is used twice", p.id, i, child)
			}
			d.led.add(child)
		}
	}
	return nil
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
