package pages

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
)

// examined is what became of wounds.
type examined struct{ wounds, noticed int }

// scanAll scans after each wound and calls missed for those that are not
// noticed. No scan may visit more than there can be.
func (p *patient) scanAll(t *testing.T, wounds iter.Seq[wound], missed func(w wound)) examined {
	t.Helper()
	var e examined
	for w := range wounds {
		e.wounds++
		visits := 0
		err := check(w.data, func([][]byte, []byte, []byte) error { visits++; return nil })
		switch {
		case errors.Is(err, ErrDamaged):
			e.noticed++
		case err != nil:
			t.Fatalf("%s: %v", w.name, err)
		default:
			missed(w)
		}
		if visits > len(w.data)/elementLen {
			t.Fatalf("%s: %d visits in %d bytes", w.name, visits, len(w.data))
		}
	}
	t.Logf("%d of %d noticed", e.noticed, e.wounds)
	return e
}

// neverMissed are wounds of which each has to be noticed if it is in a page in
// use; but an overflow page has no id, it is bytes of a value.
func (p *patient) neverMissed(t *testing.T) func(w wound) {
	return func(w wound) {
		if _, value := p.over[w.page]; w.cut > 0 || p.inUse(w.page) && !value {
			t.Errorf("%s: not noticed", w.name)
		}
	}
}

func TestEveryZeroedPageIsNoticed(t *testing.T) {
	p := newPatient(t)
	p.scanAll(t, p.zeroed, p.neverMissed(t))
}

func TestEveryTruncationIsNoticed(t *testing.T) {
	p := newPatient(t)
	p.scanAll(t, p.truncated, p.neverMissed(t))
}

func TestEveryPageInThePlaceOfAnotherIsNoticed(t *testing.T) {
	p := newPatient(t)
	p.scanAll(t, p.replaced(false), p.neverMissed(t))
}

// Even where the id is right, a page passes for another only where nothing is
// known of the keys that it should have: as the only page of a bucket, or as an
// older version of itself.
func TestOfPagesInThePlaceOfOthersWithTheRightIDAlmostAllAreNoticed(t *testing.T) {
	p := newPatient(t)
	e := p.scanAll(t, p.replaced(true), func(w wound) {
		_, overflow := p.over[w.page]
		if p.inUse(w.page) && !overflow && !p.roots[w.page] && !p.sameFirstKey(w) {
			t.Errorf("%s: not noticed", w.name)
		}
	})
	free := 0
	for id := range p.meta.HighWater {
		if !p.inUse(id) {
			free += int(p.meta.HighWater) - 1
		}
	}
	if missed := e.wounds - e.noticed - free; missed > e.wounds/10 {
		t.Errorf("%d of %d were missed", missed, e.wounds-free)
	}
}

func (p *patient) sameFirstKey(w wound) bool {
	first := func(data []byte) []byte {
		f := file{data: data, pageSize: patientPage, end: p.meta.HighWater}
		pg, err := f.page(w.page)
		if err != nil || pg.count == 0 {
			return nil
		}
		if !pg.leaf {
			_, at := pg.branchElement(0)
			return pg.key(at)
		}
		_, at := pg.leafElement(0)
		return pg.key(at)
	}
	return bytes.Equal(first(w.data), first(p.data))
}

// A flipped bit in a header or an element is missed only where it moves the end
// of the last key or value of a leaf, behind which nothing follows.
func TestEveryFlippedBitInAHeaderOrElementIsNoticedButForTheLastLengthOfALeaf(t *testing.T) {
	p := newPatient(t)
	seed := rand.Uint64()
	e := p.scanAll(t, p.flipped(seed, 20000), func(w wound) {
		at := firstDifference(w.data, p.data) - int(w.page)*patientPage
		pg := p.data[w.page*patientPage:]
		h := parseHeader(pg)
		last := headerLen + elementLen*(int(h.count)-1)
		if h.typ != typeLeaf || at < last+8 {
			t.Errorf("%s: not noticed", w.name)
		}
	})
	if e.noticed < e.wounds*9/10 {
		t.Errorf("only %d of %d were noticed", e.noticed, e.wounds)
	}
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// A bucket of one, two or four keys is one flipped bit away from an empty one.
func TestALeafThatLostItsCountIsNoticed(t *testing.T) {
	p := newPatient(t)
	p.scanAll(t, func(yield func(wound) bool) {
		b := bytes.Clone(p.data)
		for id := range p.trail {
			order.PutUint16(b[id*patientPage+10:], 0)
			if !yield(wound{name: fmt.Sprintf("page %d has no elements", id), data: b, page: id}) {
				return
			}
			p.heal(b, id)
		}
	}, p.neverMissed(t))
}

// Bits flipped anywhere, many at once: no panic, no endless walk.
func TestNoDamageMakesAWalkPanic(t *testing.T) {
	p := newPatient(t)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 1500 {
		b := bytes.Clone(p.data)
		for range 1 + r.IntN(30) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		visits := 0
		count := func([][]byte, []byte, []byte) error { visits++; return nil }
		if err := check(b, count); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatalf("seed %#x: %v", seed, err)
		}
		if err := Scan(b, p.meta, count); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatalf("seed %#x: %v", seed, err)
		}
		if _, err := Salvage(b, func(Found) error { visits++; return nil }); err != nil {
			t.Fatalf("seed %#x: %v", seed, err)
		}
		if visits > 3*len(b)/elementLen {
			t.Fatalf("seed %#x: %d visits in %d bytes", seed, visits, len(b))
		}
	}
}
