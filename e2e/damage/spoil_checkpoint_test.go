package damage

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
)

// Lengths in bytes of bbolt's format, see package store/pages.
const (
	headerLen = 16
	metaLen   = 64
)

var checkpointSpoilers = map[string]spoiler{
	whole:           asItIs,
	"gone":          gone,
	"empty":         empty,
	"zeroed":        zeros,
	"garbage":       garbage,
	"text":          text,
	"an older copy": anOlderCopy,
	"another's":     anotherNodes,
	"tail zeroed":   tailZeroed,

	"page n zeroed": func(f spoiled, n, _ int, _ *rand.Rand) []byte {
		return over(f.now, n*f.pageSize, make([]byte, f.pageSize))
	},
	"page n is page k": func(f spoiled, n, k int, _ *rand.Rand) []byte {
		return over(f.now, n*f.pageSize, f.page(f.now, k))
	},
	"page n is page k with its own id": func(f spoiled, n, k int, _ *rand.Rand) []byte {
		page := bytes.Clone(f.page(f.now, k))
		binary.NativeEndian.PutUint64(page, uint64(n))
		return over(f.now, n*f.pageSize, page)
	},
	"page n is an older one": func(f spoiled, n, _ int, _ *rand.Rand) []byte {
		return over(f.now, n*f.pageSize, f.page(f.older, n))
	},
	"page n is noise": func(f spoiled, n, _ int, r *rand.Rand) []byte {
		return over(f.now, n*f.pageSize, noise(f.pageSize, r))
	},
	"half of page n is an older one": func(f spoiled, n, _ int, r *rand.Rand) []byte {
		half := f.pageSize / 2
		at := half * r.IntN(2)
		return over(f.now, n*f.pageSize+at, f.page(f.older, n)[at:at+half])
	},
	"a sector of page n zeroed": func(f spoiled, n, _ int, r *rand.Rand) []byte {
		return over(f.now, n*f.pageSize+512*r.IntN(f.pageSize/512), make([]byte, 512))
	},
	"cut k bytes off page n": func(f spoiled, n, k int, _ *rand.Rand) []byte {
		return f.now[:min(len(f.now), max(0, n*f.pageSize+k))]
	},
	"longer": func(f spoiled, _, _ int, r *rand.Rand) []byte {
		return append(bytes.Clone(f.now), noise(1+r.IntN(3*f.pageSize), r)...)
	},
	"a flipped bit": aFlippedBit,
	"a flipped bit in use": func(f spoiled, _, _ int, r *rand.Rand) []byte {
		return flip(f.now, r.IntN(int(f.meta.HighWater)*f.pageSize*8))
	},
	"a flipped bit in a header": func(f spoiled, _, _ int, r *rand.Rand) []byte {
		page := r.IntN(int(f.meta.HighWater))
		return flip(f.now, page*f.pageSize*8+r.IntN(headerLen*8))
	},
	"a flipped bit in an element": func(f spoiled, _, _ int, r *rand.Rand) []byte {
		page := r.IntN(int(f.meta.HighWater))
		count := int(binary.NativeEndian.Uint16(f.now[page*f.pageSize+10:]))
		n := min(max(count, 1)*16, f.pageSize-headerLen)
		return flip(f.now, (page*f.pageSize+headerLen)*8+r.IntN(n*8))
	},
	"bit n of a meta page flipped": func(f spoiled, n, k int, _ *rand.Rand) []byte {
		return flip(f.now, k*f.pageSize*8+n%((headerLen+metaLen)*8))
	},
	"a flipped bit in the freelist": func(f spoiled, _, _ int, r *rand.Rand) []byte {
		at := int(f.meta.Freelist) * f.pageSize
		count := int(binary.NativeEndian.Uint16(f.now[at+10:]))
		return flip(f.now, at*8+r.IntN((headerLen+8*(count+2))*8))
	},
	"a number of page n is another": func(f spoiled, n, _ int, r *rand.Rand) []byte {
		b := bytes.Clone(f.now)
		at := n*f.pageSize + 4*r.IntN(64)
		binary.NativeEndian.PutUint32(b[at:], r.Uint32N(uint32(f.pages())+2))
		return b
	},
	"both meta pages zeroed": func(f spoiled, _, _ int, _ *rand.Rand) []byte {
		return over(f.now, 0, make([]byte, 2*f.pageSize))
	},
	"meta pages have changed places": func(f spoiled, _, _ int, _ *rand.Rand) []byte {
		b := over(f.now, 0, f.page(f.now, 1))
		b = over(b, f.pageSize, f.page(f.now, 0))
		for id := range uint64(2) {
			binary.NativeEndian.PutUint64(b[int(id)*f.pageSize:], id)
		}
		return b
	},
}
