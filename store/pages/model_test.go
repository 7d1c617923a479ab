package pages

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
)

var errRollBack = errors.New("roll back")

// Whatever bbolt writes is sound, and is all there: puts, deletes, buckets made
// and removed, values of every size, transactions rolled back, reopened files.
func TestEveryFileThatBboltWritesIsSound(t *testing.T) {
	lives := 20
	if *everything {
		lives = 1500
	}
	seed := rand.Uint64()
	for i := range uint64(lives) {
		t.Run(fmt.Sprintf("%#x", seed+i), func(t *testing.T) { t.Parallel(); live(t, seed+i) })
	}
}

// live is the life of a file that the seed decides.
func live(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	pageSize := 512 << r.IntN(4)
	f := newFile(t, pageSize)
	w := writer{r, 1 + r.IntN(400), r.IntN(100)}
	for range 60 {
		err := f.Update(func(tx *bolt.Tx) error {
			for range 1 + r.IntN(1+r.IntN(120)) {
				w.step(tx)
			}
			if r.IntN(10) == 0 {
				return errRollBack
			}
			return nil
		})
		if err != nil && !errors.Is(err, errRollBack) {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f.held(), scanned(t, f.bytes())); diff != "" {
			t.Fatal(diff)
		}
		if t.Failed() {
			return
		}
		if r.IntN(10) == 0 && len(f.bytes()) >= 4096 { // bbolt does not open a shorter file again
			_ = f.Close()
			f = openFile(t, f.path, pageSize)
		}
	}
}

// writer makes random changes.
type writer struct {
	*rand.Rand
	keys    int // how many different keys there are in a bucket
	deletes int // per cent of the changes
}

var bucketPaths = []string{"a", "b", "b/c", "b/c/d", "b/e", "f/g"}

func (w writer) step(tx *bolt.Tx) {
	path := bucketPaths[w.IntN(len(bucketPaths))]
	switch n := w.IntN(200); {
	case n == 0:
		deleteBucket(tx, "b")
	case n == 1:
		deleteBucket(bucketAt(tx, "b"), "c")
	case n == 2: // all keys of a bucket
		b := bucketAt(tx, path)
		c := b.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if v != nil {
				_ = c.Delete()
			}
		}
	case n < 6:
		if _, err := bucketAt(tx, path).NextSequence(); err != nil {
			panic(err)
		}
	default:
		b := bucketAt(tx, path)
		key := w.key()
		if b.Bucket([]byte(key)) != nil {
			return
		}
		if w.IntN(100) < w.deletes {
			if err := b.Delete([]byte(key)); err != nil {
				panic(err)
			}
			return
		}
		put(b, key, bytes.Repeat([]byte{byte(n)}, w.length()))
	}
}

// deleteBucket deletes a bucket, and those in it one by one before it: where it
// was changed in the same transaction, bbolt misses every other one of them,
// and their pages are neither in use nor free from then on.
func deleteBucket(parent interface {
	Bucket([]byte) *bolt.Bucket
	DeleteBucket([]byte) error
}, name string) {
	b := parent.Bucket([]byte(name))
	if b == nil {
		return
	}
	var inner []string
	if err := b.ForEachBucket(func(k []byte) error { inner = append(inner, string(k)); return nil }); err != nil {
		panic(err)
	}
	for _, k := range inner {
		deleteBucket(b, k)
	}
	if err := parent.DeleteBucket([]byte(name)); err != nil {
		panic(err)
	}
}

// key is short or long, and may lie in front of all others.
func (w writer) key() string {
	k := w.IntN(w.keys)
	if k%17 == 0 {
		return fmt.Sprintf("%d-%0*d", k, 1+k%300, k)
	}
	return fmt.Sprintf("k%05d", k*7919%100003)
}

// length is of a value, mostly small, sometimes of several pages.
func (w writer) length() int {
	switch w.IntN(20) {
	case 0:
		return w.IntN(9000)
	case 1, 2:
		return 0
	}
	return w.IntN(150)
}
