package pages

import (
	"bytes"
	"encoding/binary"
)

var order = binary.NativeEndian

// Lengths in bytes, but for minBranch.
const (
	headerLen  = 16 // of a page
	elementLen = 16 // of an element, of a branch and of a leaf alike
	bucketLen  = 16 // of a bucket's value, without an inline page
	idLen      = 8

	minBranch = 2 // elements of a branch: bbolt merges and splits pages so, and relies on it

	minPageSize = 1 << 9
	maxPageSize = 1 << 16
)

// firstPage is the first id behind the meta pages.
const firstPage = 2

// Types of pages.
const (
	typeBranch   = 0x01
	typeLeaf     = 0x02
	typeMeta     = 0x04
	typeFreelist = 0x10
)

// flagBucket is the one flag of a leaf element: its value is a bucket.
const flagBucket = 0x01

type header struct {
	id       uint64
	typ      uint16
	count    uint16
	overflow uint32 // pages that follow and belong to this one
}

// parseHeader reads the first headerLen bytes of b.
func parseHeader(b []byte) header {
	_ = b[headerLen-1]
	return header{order.Uint64(b), order.Uint16(b[8:]), order.Uint16(b[10:]), order.Uint32(b[12:])}
}

func validPageSize(n int64) bool {
	return n >= minPageSize && n <= maxPageSize && n&(n-1) == 0
}

// page is a branch or leaf page. Its elements lie within b, and but for an
// inline page within the first page of it, since bbolt splits what is longer and
// has more than four; their keys and values need not. No number in it can
// overflow: b is in memory, and what is added to its length has 32 bits.
type page struct {
	id     uint64 // for an inline page that of the page it lies in
	leaf   bool
	inline bool
	count  uint64
	b      []byte // with its overflow pages
}

// body is where the first key has to be.
func (p *page) body() uint64 { return headerLen + p.count*elementLen }

// span is where a key and a value lie in a page: the value begins where the
// key ends.
type span struct{ key, value, end uint64 }

// leafElement reads element i.
func (p *page) leafElement(i uint64) (flags uint32, s span) {
	at := headerLen + i*elementLen
	e := p.b[at : at+elementLen]
	s.key = at + uint64(order.Uint32(e[4:]))
	s.value = s.key + uint64(order.Uint32(e[8:]))
	s.end = s.value + uint64(order.Uint32(e[12:]))
	return order.Uint32(e), s
}

// branchElement reads element i, whose value is empty.
func (p *page) branchElement(i uint64) (child uint64, s span) {
	at := headerLen + i*elementLen
	e := p.b[at : at+elementLen]
	s.key = at + uint64(order.Uint32(e))
	s.value = s.key + uint64(order.Uint32(e[4:]))
	s.end = s.value
	return order.Uint64(e[8:]), s
}

// holds tells whether s has a key and lies in the page behind its elements.
func (p *page) holds(s span) bool {
	return s.key >= p.body() && s.value > s.key && s.end <= uint64(len(p.b))
}

// fits tells whether p is as long as bbolt makes it for what ends at byte end.
// What it writes behind that is zero: where an element follows nonetheless, p
// is not empty, but has lost its count.
func (p *page) fits(end, pageSize uint64) bool {
	n := uint64(len(p.b))
	if p.inline {
		return n == end
	}
	if p.count == 0 {
		if _, at := p.leafElement(0); at.end != headerLen {
			return false
		}
	}
	return n >= end && n-end < pageSize
}

func (p *page) key(s span) []byte   { return p.b[s.key:s.value:s.value] }
func (p *page) value(s span) []byte { return p.b[s.value:s.end:s.end] }

// whole tells whether p is sound in itself: its elements are in their places
// and its keys ascend.
func (p *page) whole(pageSize uint64) bool {
	if !p.leaf && p.count < minBranch {
		return false
	}
	next := p.body()
	var last []byte
	for i := range p.count {
		var flags uint32
		var at span
		if p.leaf {
			flags, at = p.leafElement(i)
		} else {
			_, at = p.branchElement(i)
		}
		if at.key != next || !p.holds(at) || flags&^flagBucket != 0 || bytes.Compare(last, p.key(at)) >= 0 {
			return false
		}
		last, next = p.key(at), at.end
	}
	return p.fits(next, pageSize)
}

// lostFlag tells whether a value of p that is not marked as a bucket is an
// inline bucket to the last byte.
func (p *page) lostFlag(value []byte, pageSize uint64) bool {
	if len(value) < bucketLen+headerLen || order.Uint64(value) != 0 { // most values, at once
		return false
	}
	b, ok := parseBucket(value, p.id)
	return ok && b.inline.whole(pageSize)
}

// file is the pages of a bbolt file in memory.
type file struct {
	data     []byte
	pageSize uint64
	end      uint64 // ids are below it; so many pages are in data
}

// page returns a page of a tree after a look at its header.
func (f *file) page(id uint64) (page, error) {
	if id < firstPage || id >= f.end {
		return page{}, damaged("page %d is not one of the pages %d to %d", id, firstPage, f.end-1)
	}
	b := f.data[id*f.pageSize:]
	h := parseHeader(b)
	if h.id != id {
		return page{}, damaged("page %d says that it is page %d", id, h.id)
	}
	if h.typ != typeBranch && h.typ != typeLeaf {
		return page{}, damaged("page %d is neither branch nor leaf, but of type %#x", id, h.typ)
	}
	if uint64(h.overflow) >= f.end-id {
		return page{}, damaged("page %d goes on for %d pages, beyond the last one", id, h.overflow)
	}
	p := page{id: id, leaf: h.typ == typeLeaf, count: uint64(h.count), b: b[:(uint64(h.overflow)+1)*f.pageSize]}
	if p.body() > f.pageSize {
		return page{}, damaged("page %d is too small for its %d elements", id, h.count)
	}
	if !p.leaf && p.count < minBranch {
		return page{}, damaged("page %d is a branch of %d elements", id, h.count)
	}
	return p, nil
}

// pages is how many ids p takes.
func (f *file) pages(p *page) uint64 { return uint64(len(p.b)) / f.pageSize }

// bucket is the value of a leaf element with flagBucket.
type bucket struct {
	root   uint64 // 0: the bucket is inline
	inline page
}

// parseBucket reads the bucket at value, in the page with this id.
func parseBucket(value []byte, id uint64) (bucket, bool) {
	if len(value) < bucketLen {
		return bucket{}, false
	}
	root := order.Uint64(value)
	if root != 0 {
		return bucket{root: root}, len(value) == bucketLen
	}
	b := value[bucketLen:]
	if len(b) < headerLen {
		return bucket{}, false
	}
	h := parseHeader(b)
	p := page{id: id, leaf: true, inline: true, count: uint64(h.count), b: b}
	return bucket{inline: p}, h.id == 0 && h.typ == typeLeaf && h.overflow == 0 && p.body() <= uint64(len(b))
}

// pageSet is a set of page ids, a bit for each.
type pageSet []uint64

func newPageSet(end uint64) pageSet { return make(pageSet, (end+63)/64) }

func (s pageSet) has(id uint64) bool { return s[id/64]&(1<<(id%64)) != 0 }

func (s pageSet) add(id uint64) { s[id/64] |= 1 << (id % 64) }

func (s pageSet) remove(id uint64) { s[id/64] &^= 1 << (id % 64) }
