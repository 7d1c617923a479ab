package damage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/pages"
)

// A spoiler makes of a file what is to be there; nil stands for no file. n and k
// say where, r decides what is left to chance.
type spoiler func(f spoiled, n, k int, r *rand.Rand) []byte

// spoiled is a file that is to be spoiled.
type spoiled struct {
	now, older, anothers []byte
	pageSize             int
	meta                 pages.Meta
}

func (f spoiled) page(b []byte, id int) []byte {
	id = max(id, 0)
	if (id+1)*f.pageSize > len(b) {
		return make([]byte, f.pageSize)
	}
	return b[id*f.pageSize : (id+1)*f.pageSize]
}

// pages is how many the file has, used or not.
func (f spoiled) pages() int { return len(f.now) / f.pageSize }

// spoil writes the files of a trial in the place of those of the image, and
// returns what the checkpoint is then.
func (m *image) spoil(c trial, anothers map[string][]byte) ([]byte, error) {
	var checkpoint []byte
	for i, part := range parts {
		how := []string{c.Checkpoint, c.Journal, c.Lock}[i]
		kinds := []map[string]spoiler{checkpointSpoilers, journalSpoilers, lockSpoilers}[i]
		spoil, known := kinds[how]
		if !known {
			return nil, fmt.Errorf("%s: no such damage: %q", part, how)
		}
		f := spoiled{now: m.files[part], older: m.older[part], anothers: anothers[part], pageSize: os.Getpagesize()}
		if part == store.CheckpointFile {
			meta, err := pages.ReadMeta(bytes.NewReader(f.now), int64(len(f.now)))
			if err != nil {
				return nil, err
			}
			f.meta = meta
		}
		n, k := c.N, c.K
		if part == store.CheckpointFile && how != "bit n of a meta page flipped" {
			n %= f.pages()
		}
		b := spoil(f, n, k, rand.New(rand.NewPCG(c.Seed, uint64(i))))
		if part == store.CheckpointFile {
			checkpoint = b
		}
		if b == nil {
			if err := os.Remove(m.file(part)); err != nil {
				return nil, err
			}
			continue
		}
		// In place: lock and journal may be looked at by their inode.
		if err := os.WriteFile(m.file(part), b, 0o600); err != nil {
			return nil, err
		}
	}
	return checkpoint, nil
}

func flip(b []byte, bit int) []byte {
	b = bytes.Clone(b)
	b[bit/8] ^= 1 << (bit % 8)
	return b
}

// over puts part into b at an offset.
func over(b []byte, at int, part []byte) []byte {
	b = bytes.Clone(b)
	copy(b[at:], part)
	return b
}

func noise(n int, r *rand.Rand) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// What a damage is called where there is none.
const whole = "whole"

func asItIs(f spoiled, _, _ int, _ *rand.Rand) []byte       { return f.now }
func gone(spoiled, int, int, *rand.Rand) []byte             { return nil }
func empty(spoiled, int, int, *rand.Rand) []byte            { return []byte{} }
func zeros(f spoiled, _, _ int, _ *rand.Rand) []byte        { return make([]byte, len(f.now)) }
func anOlderCopy(f spoiled, _, _ int, _ *rand.Rand) []byte  { return f.older }
func anotherNodes(f spoiled, _, _ int, _ *rand.Rand) []byte { return f.anothers }
func garbage(f spoiled, _, _ int, r *rand.Rand) []byte      { return noise(len(f.now), r) }
func text(f spoiled, _, _ int, _ *rand.Rand) []byte {
	return bytes.Repeat([]byte("{\"a\":1}\n"), len(f.now)/8)
}
func aFlippedBit(f spoiled, _, _ int, r *rand.Rand) []byte { return flip(f.now, r.IntN(len(f.now)*8)) }
func tailZeroed(f spoiled, _, _ int, r *rand.Rand) []byte {
	n := 1 + r.IntN(min(4096, len(f.now)))
	return over(f.now, len(f.now)-n, make([]byte, n))
}

var lockSpoilers = map[string]spoiler{
	whole:           asItIs,
	"gone":          gone,
	"empty":         empty,
	"zeroed":        zeros,
	"an older copy": anOlderCopy,
	"another's":     anotherNodes,
	"garbage":       garbage,
	"a flipped bit": aFlippedBit,
}
