package pages

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func TestDescendFindsASoundFileSound(t *testing.T) {
	for _, size := range []int{512, 4096} {
		f := newFile(t, size)
		f.records(700)
		f.longValues()
		b := f.bytes()
		m, err := ReadMeta(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		ask := func(path [][]byte, key []byte) {
			if err := Descend(b, m, path, key); err != nil {
				t.Fatalf("%q of %q: %v", key, path, err)
			}
		}
		err = Scan(b, m, func(path [][]byte, key, _ []byte) error {
			ask(path, key)
			ask(path, append(bytes.Clone(key), 0))            // behind it
			ask(path, key[:len(key)-1])                       // before it
			ask(append(path[:len(path):len(path)], key), key) // it is no bucket
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		ask(nil, []byte("networks"))
		ask(nil, nil)
		ask([][]byte{[]byte("nobody")}, []byte("k"))
	}
}

// A page that Descend did not see does not matter, and with those that it found
// sound bbolt does what it is asked to.
func TestWhatDescendFindsSoundBboltCanSeekPutAndDelete(t *testing.T) {
	p := newPatient(t)
	dir := t.TempDir()
	for name, wounds := range map[string]iter.Seq[wound]{
		"zeroed":                   p.zeroed,
		"replaced, with their ids": p.some(p.replaced(true)),
		"flipped":                  p.flipped(rand.Uint64(), 1000),
		"led in circles":           p.circles,
	} {
		sound, damaged := 0, 0
		for w := range wounds {
			m, err := ReadMeta(bytes.NewReader(w.data), int64(len(w.data)))
			if err != nil {
				continue
			}
			k := p.keys[rand.IntN(len(p.keys))]
			if Descend(w.data, m, k.Path, k.Key) != nil {
				damaged++
				continue
			}
			sound++
			path := filepath.Join(dir, fmt.Sprint(sound)) // after a panic bbolt keeps the last one
			if err := os.WriteFile(path, w.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := bboltCan(path, k); err != nil {
				t.Errorf("%s: %q of %q: %v", w.name, k.Key, k.Path, err)
			}
			_ = os.Remove(path)
		}
		if sound == 0 || damaged == 0 {
			t.Errorf("%s: %d were found sound and %d damaged: nothing is shown", name, sound, damaged)
		}
	}
}

// bboltCan has bbolt get a key and put or delete it. A panic is an error.
func bboltCan(path string, k Found) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	db, err := bolt.Open(path, 0o600, &bolt.Options{FreelistType: bolt.FreelistArrayType, NoSync: true})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(k.Path[0])
		for _, name := range k.Path[1:] {
			if b != nil {
				b = b.Bucket(name)
			}
		}
		if b == nil { // the damage has taken the name, which Descend cannot know
			return nil
		}
		if v := b.Get(k.Key); v != nil && rand.IntN(2) == 0 {
			return b.Put(k.Key, append(v[:len(v):len(v)], v...))
		}
		return b.Delete(k.Key)
	})
	if err != nil {
		return err
	}
	return db.Close() // not after a panic: that would wait for bbolt's locks
}

// circles makes each element of each branch lead to each page above it.
func (p *patient) circles(yield func(wound) bool) {
	b := bytes.Clone(p.data)
	f := file{data: p.data, pageSize: patientPage, end: p.meta.HighWater}
	for id, trail := range p.trail {
		pg, err := f.page(id)
		if err != nil || pg.leaf {
			continue
		}
		for i := range pg.count {
			for _, above := range trail {
				order.PutUint64(b[id*patientPage+headerLen+i*elementLen+8:], above)
				name := fmt.Sprintf("element %d of page %d leads to page %d", i, id, above)
				if !yield(wound{name: name, data: b, page: id}) {
					return
				}
				p.heal(b, id)
			}
		}
	}
}

func TestEveryCircleIsNoticed(t *testing.T) {
	p := newPatient(t)
	p.scanAll(t, p.circles, p.neverMissed(t))
	for w := range p.circles {
		if _, err := Salvage(w.data, func(Found) error { return nil }); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		for _, k := range p.keys {
			if Descend(w.data, p.meta, k.Path, k.Key) != nil {
				continue
			}
			if err := withinReach(w.data, p.meta, k); err != nil {
				t.Errorf("%s: %q: %v", w.name, k.Key, err)
			}
		}
	}
}

// withinReach finds k without a look at anything but ids, as bbolt does.
func withinReach(data []byte, m Meta, k Found) error {
	f := file{data: data, pageSize: uint64(m.PageSize), end: m.HighWater}
	root := m.Root
	for _, name := range append(k.Path[:len(k.Path):len(k.Path)], k.Key) {
		for depth := 1; ; depth++ {
			pg, err := f.page(root)
			if err != nil || depth > maxDepth {
				return fmt.Errorf("page %d, level %d: %w", root, depth, err)
			}
			i, found := pg.search(name)
			if pg.leaf {
				if flags, at := pg.leafElement(i); found && flags == flagBucket {
					b, _ := parseBucket(pg.value(at), root)
					root = b.root
				}
				break
			}
			if !found && i > 0 {
				i--
			}
			root, _ = pg.branchElement(i)
		}
		if root == 0 {
			return nil
		}
	}
	return nil
}

func TestScanBucketVisitsWhatScanDoesInThatBucket(t *testing.T) {
	f := newFile(t, 512)
	f.records(700)
	f.longValues()
	b := f.bytes()
	m, err := ReadMeta(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	in := map[string][]string{"nobody": nil}
	note := func(to *[]string) func(path [][]byte, key, value []byte) error {
		return func(path [][]byte, key, value []byte) error {
			*to = append(*to, fmt.Sprintf("%q %q %x", path, key, value))
			return nil
		}
	}
	err = Scan(b, m, func(path [][]byte, key, value []byte) error {
		keys := in[string(path[0])]
		err := note(&keys)(path, key, value)
		in[string(path[0])] = keys
		return err
	})
	if err != nil || len(in) < 2 {
		t.Fatalf("%d buckets, %v", len(in)-1, err)
	}
	for name, want := range in {
		var got []string
		if err := ScanBucket(b, m, []byte(name), note(&got)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d keys, want %d", name, len(got), len(want))
		}
	}
}

// Nor does damage lead it in circles.
func TestScanBucketFindsDamageInIt(t *testing.T) {
	p := newPatient(t)
	name := p.keys[0].Path[0]
	for what, wounds := range map[string]iter.Seq[wound]{"zeroed": p.zeroed, "led in circles": p.circles} {
		noticed := 0
		for w := range wounds {
			visits := 0
			err := ScanBucket(w.data, p.meta, name, func([][]byte, []byte, []byte) error { visits++; return nil })
			if err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v", w.name, err)
			}
			if err != nil {
				noticed++
			}
			if visits > len(w.data)/elementLen {
				t.Errorf("%s: %d visits", w.name, visits)
			}
		}
		if noticed == 0 {
			t.Errorf("%s: nothing is noticed", what)
		}
	}
}
