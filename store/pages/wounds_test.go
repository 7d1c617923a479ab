package pages

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// patient is a sound file of about a hundred pages that wounds are inflicted
// on, and what is known of it.
type patient struct {
	data  []byte // never changed
	meta  Meta
	keys  []Found             // in the order of Salvage, paths cloned
	over  map[uint64]uint64   // overflow page -> the page it belongs to
	trail map[uint64][]uint64 // page of a tree -> the pages that lead to it, itself the last
	roots map[uint64]bool     // root pages of buckets
}

const patientPage = 512

func newPatient(t *testing.T) *patient {
	f := newFile(t, patientPage)
	for n := 10; n <= 70; n += 10 {
		f.records(n) // what is replaced stays in pages that are free
	}
	f.longValues()
	f.records(5)
	return examine(t, f.bytes())
}

// longValues puts some that need overflow pages, and long keys, which make
// branch pages of few elements.
func (f *dbFile) longValues() {
	f.update(func(tx *bolt.Tx) error {
		for i := range 8 {
			put(bucketAt(tx, "long/values"), fmt.Sprint(i), bytes.Repeat([]byte{'v'}, i*200))
			put(bucketAt(tx, "long/keys"), fmt.Sprintf("%0150d", i), nil)
		}
		return nil
	})
}

// examine learns all about a sound file.
func examine(t *testing.T, data []byte) *patient {
	t.Helper()
	m, err := ReadMeta(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	p := &patient{data: data, meta: m, over: map[uint64]uint64{}, trail: map[uint64][]uint64{}, roots: map[uint64]bool{}}
	f := file{data: data, pageSize: uint64(m.PageSize), end: m.HighWater}
	var walk func(id uint64, trail []uint64)
	walk = func(id uint64, trail []uint64) {
		pg, err := f.page(id)
		if err != nil {
			t.Fatal(err)
		}
		trail = append(trail[:len(trail):len(trail)], id)
		p.trail[id] = trail
		for i := id + 1; i < id+f.pages(&pg); i++ {
			p.over[i] = id
		}
		for i := range pg.count {
			if !pg.leaf {
				child, _ := pg.branchElement(i)
				walk(child, trail)
			} else if flags, at := pg.leafElement(i); flags == flagBucket {
				if b, _ := parseBucket(pg.value(at), id); b.root != 0 {
					p.roots[b.root] = true
					walk(b.root, trail)
				}
			}
		}
	}
	walk(m.Root, nil)
	skipped, err := Salvage(data, func(k Found) error {
		if !k.Stale {
			k.Path = clonePath(k.Path)
			p.keys = append(p.keys, k)
		}
		return nil
	})
	if err != nil || skipped != 0 {
		t.Fatalf("salvage of a sound file: %d pages skipped, %v", skipped, err)
	}
	return p
}

func clonePath(path [][]byte) [][]byte {
	c := make([][]byte, len(path))
	for i := range path {
		c[i] = bytes.Clone(path[i])
	}
	return c
}

// inUse tells whether the last transaction uses the page.
func (p *patient) inUse(id uint64) bool {
	_, tree := p.trail[id]
	_, over := p.over[id]
	return tree || over || id < firstPage || id == p.meta.Freelist
}

// wound is damage to a file.
type wound struct {
	name string
	data []byte
	page uint64 // the only page with other bytes, or 0 and cut is set
	cut  int    // bytes that are left, where it is cut off
}

// touches tells whether the wound is in a page or in its overflow pages.
func (w wound) touches(p *patient, id uint64) bool {
	if w.cut > 0 {
		end := id
		for p.over[end+1] == id && end+1 < p.meta.HighWater {
			end++
		}
		return uint64(w.cut) < (end+1)*patientPage
	}
	return w.page == id || p.over[w.page] == id && w.page != 0
}

// zeroed zeroes each page in turn. A wound's data lasts until the next one.
func (p *patient) zeroed(yield func(wound) bool) {
	b := bytes.Clone(p.data)
	for id := range p.meta.HighWater {
		clear(b[id*patientPage:][:patientPage])
		if !yield(wound{name: fmt.Sprintf("page %d zeroed", id), data: b, page: id}) {
			return
		}
		p.heal(b, id)
	}
}

// replaced puts each page in the place of every other, with the id that it
// should have there or with its own.
func (p *patient) replaced(withID bool) func(yield func(wound) bool) {
	return func(yield func(wound) bool) {
		b := bytes.Clone(p.data)
		for to := range p.meta.HighWater {
			for from := range p.meta.HighWater {
				copy(b[to*patientPage:], p.data[from*patientPage:][:patientPage])
				if withID {
					order.PutUint64(b[to*patientPage:], to)
				}
				name := fmt.Sprintf("page %d replaced by page %d", to, from)
				if from != to && !yield(wound{name: name, data: b, page: to}) {
					return
				}
			}
			p.heal(b, to)
		}
	}
}

func (p *patient) truncated(yield func(wound) bool) {
	for id := uint64(1); id <= p.meta.HighWater; id++ {
		for _, n := range []int{int(id)*patientPage - 1, int(id) * patientPage, int(id)*patientPage + 1} {
			if n < int(p.meta.HighWater)*patientPage && !yield(wound{name: fmt.Sprintf("cut off at %d bytes", n), data: p.data[:n:n], cut: n}) {
				return
			}
		}
	}
}

// flipped flips single bits of headers and elements, at places that the seed
// decides.
func (p *patient) flipped(seed uint64, n int) func(yield func(wound) bool) {
	return func(yield func(wound) bool) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := bytes.Clone(p.data)
		for range n {
			id := r.Uint64N(p.meta.HighWater)
			h := parseHeader(b[id*patientPage:])
			length := headerLen + elementLen*int(h.count)
			switch h.typ {
			case typeMeta:
				length = headerLen + metaLen
			case typeFreelist:
				length = headerLen + idLen*int(h.count)
			}
			length = min(length, patientPage)
			at, bit := r.IntN(length), r.IntN(8)
			b[int(id)*patientPage+at] ^= 1 << bit
			name := fmt.Sprintf("seed %#x: page %d: bit %d of byte %d flipped", seed, id, bit, at)
			if p.inUse(id) && p.over[id] == 0 && !yield(wound{name: name, data: b, page: id}) {
				return
			}
			p.heal(b, id)
		}
	}
}

func (p *patient) heal(b []byte, id uint64) {
	copy(b[id*patientPage:], p.data[id*patientPage:][:patientPage])
}
