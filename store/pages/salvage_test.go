package pages

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
)

// salvaged is what Salvage gives: the first of each key and path, and each key
// and value, wherever they were: true where the tree led there.
type salvaged struct {
	first map[string]Found
	loose map[string]bool
}

func salvage(t *testing.T, data []byte) (salvaged, int) {
	t.Helper()
	got := salvaged{map[string]Found{}, map[string]bool{}}
	skipped, err := Salvage(data, func(k Found) error {
		full := fullKey(k.Path, k.Key)
		if _, ok := got.first[full]; !ok {
			k.Path = clonePath(k.Path)
			got.first[full] = k
		}
		got.loose[loose(k)] = got.loose[loose(k)] || k.Reached
		return nil
	})
	if err != nil && !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	return got, skipped
}

func loose(k Found) string { return string(k.Key) + "\x00" + string(k.Value) }

func TestOfASoundFileSalvageGivesWhatScanGives(t *testing.T) {
	for _, size := range []int{512, 4096} {
		f := newFile(t, size)
		f.records(500)
		f.longValues()
		b := f.bytes()
		got := content{}
		stale := false
		skipped, err := Salvage(b, func(k Found) error {
			stale = stale || k.Stale
			if !k.Stale {
				if !k.Reached || k.Broken || stale {
					t.Errorf("%q: %+v", k.Key, k)
				}
				got[fullKey(k.Path, k.Key)] = string(k.Value)
			}
			return nil
		})
		if err != nil || skipped != 0 {
			t.Errorf("%d pages skipped, %v", skipped, err)
		}
		if diff := cmp.Diff(scanned(t, b), got); diff != "" {
			t.Error(diff)
		}
	}
}

// expectRest checks that all is salvaged that the wound has not touched: in its
// place where the pages that lead there are whole, else at least as it is.
func (p *patient) expectRest(t *testing.T, w wound) {
	t.Helper()
	got, skipped := salvage(t, w.data)
	reachable := w.page >= firstPage && w.cut == 0
	lost := false
	for _, k := range p.keys {
		if w.touches(p, k.Page) {
			lost = true
			continue
		}
		reached, there := got.loose[loose(k)]
		if !there {
			t.Fatalf("%s: key %q of page %d is not salvaged", w.name, k.Key, k.Page)
		}
		if !reached && skipped == 0 {
			t.Fatalf("%s: nothing led to key %q of page %d, but no page is said to be missing", w.name, k.Key, k.Page)
		}
		if !reachable || slices.ContainsFunc(p.trail[k.Page], func(id uint64) bool { return w.touches(p, id) }) {
			lost = true
			continue
		}
		f := got.first[fullKey(k.Path, k.Key)]
		if !bytes.Equal(f.Value, k.Value) || !f.Reached || f.Stale || f.Broken {
			t.Fatalf("%s: key %q of page %d, %q: salvaged as %+v", w.name, k.Key, k.Page, k.Value, f)
		}
	}
	if _, tree := p.trail[w.page]; lost && tree && skipped == 0 && bytes.Equal(w.data[w.page*patientPage:][:headerLen], make([]byte, headerLen)) {
		t.Errorf("%s: no page was skipped", w.name)
	}
}

func TestWhatAWoundDoesNotTouchIsSalvaged(t *testing.T) {
	p := newPatient(t)
	seed := rand.Uint64()
	for name, wounds := range map[string]iter.Seq[wound]{
		"zeroed":                   p.zeroed,
		"truncated":                p.truncated,
		"replaced":                 p.some(p.replaced(false)),
		"replaced, with their ids": p.some(p.replaced(true)),
		"flipped":                  p.flipped(seed, 2000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for w := range wounds {
				p.expectRest(t, w)
			}
		})
	}
}

// some is every twentieth wound, or all of them.
func (p *patient) some(wounds iter.Seq[wound]) iter.Seq[wound] {
	if *everything {
		return wounds
	}
	return func(yield func(wound) bool) {
		n := rand.IntN(20)
		for w := range wounds {
			if n++; n%20 == 0 && !yield(w) {
				return
			}
		}
	}
}

// The root page is written by each commit, so the older one still leads to all
// that the last one has not changed.
func TestWithoutTheRootPageTheOlderOneLeads(t *testing.T) {
	p := newPatient(t)
	b := bytes.Clone(p.data)
	clear(b[p.meta.Root*patientPage:][:patientPage])
	got, skipped := salvage(t, b)
	if skipped == 0 {
		t.Error("nothing was skipped")
	}
	missing := 0
	for _, k := range p.keys {
		if f, ok := got.first[fullKey(k.Path, k.Key)]; !ok || !f.Reached {
			missing++
		}
	}
	if missing*4 > len(p.keys) {
		t.Errorf("%d of %d keys have lost their path", missing, len(p.keys))
	}
}

func TestWithoutMetaPagesAllKeysAreSalvaged(t *testing.T) {
	for _, size := range []int{512, 1024, 4096, 65536} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			f := newFile(t, size)
			f.records(300)
			want := f.held()
			b := f.bytes()
			clear(b[:2*size])
			got, skipped := salvage(t, b)
			if skipped != 2 {
				t.Errorf("%d pages were skipped, not the two meta pages", skipped)
			}
			for full, value := range want {
				f, ok := got.first[full]
				if !ok || string(f.Value) != value || f.Reached {
					t.Fatalf("%q: %+v", full, f)
				}
			}
		})
	}
}

// A deleted key may still lie in a page that is free.
func TestAFreePageIsTheLastSourceAndIsToldSo(t *testing.T) {
	f := newFile(t, 0)
	f.records(100)
	f.update(func(tx *bolt.Tx) error {
		return bucketAt(tx, "networks/podnet/allocations").Delete([]byte("address-00000007"))
	})
	found := 0
	_, err := Salvage(f.bytes(), func(k Found) error {
		if string(k.Key) == "address-00000007" {
			found++
			if !k.Stale || k.Reached {
				t.Errorf("%+v", k)
			}
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("found %d times, %v", found, err)
	}
}

func TestOfABrokenPageTheWholeElementsAreSalvaged(t *testing.T) {
	p := newPatient(t)
	k := p.keys[len(p.keys)/2]
	b := bytes.Clone(p.data)
	order.PutUint32(b[k.Page*patientPage+headerLen+8:], 1<<30) // the length of its first key
	broken, whole := 0, 0
	for _, k := range p.keys {
		if k.Page == p.keys[len(p.keys)/2].Page {
			whole++
		}
	}
	skipped, err := Salvage(b, func(f Found) error {
		if f.Page == k.Page && f.Broken && f.Reached {
			broken++
		}
		return nil
	})
	if err != nil || skipped != 1 || broken != whole-1 {
		t.Errorf("%d of %d elements, %d pages skipped, %v", broken, whole, skipped, err)
	}
}

func TestNothingIsSalvagedFromOtherBytes(t *testing.T) {
	for _, b := range [][]byte{nil, {0}, make([]byte, 100000), bytes.Repeat([]byte("text\n"), 20000)} {
		skipped, err := Salvage(b, func(k Found) error { t.Errorf("found %+v", k); return nil })
		isDamage(t, err)
		if skipped != 2 {
			t.Errorf("%d pages skipped", skipped)
		}
	}
}

func TestAnErrorOfVisitEndsTheSalvage(t *testing.T) {
	p := newPatient(t)
	enough := errors.New("enough")
	for _, at := range []int{1, len(p.keys), len(p.keys) + 1} {
		visits := 0
		_, err := Salvage(p.data, func(Found) error {
			if visits++; visits == at {
				return enough
			}
			return nil
		})
		if err != enough || visits != at {
			t.Errorf("%v after %d visits", err, visits)
		}
	}
}
