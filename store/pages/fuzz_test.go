package pages

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const fuzzPage = 512

// assemble makes a file of two good meta pages and what follows them: a fuzzer
// does not guess checksums.
func assemble(body []byte, root, freelist, highWater uint64) []byte {
	b := make([]byte, 2*fuzzPage, 2*fuzzPage+len(body))
	for i := range uint64(2) {
		pg := b[i*fuzzPage:]
		order.PutUint64(pg, i)
		order.PutUint16(pg[8:], typeMeta)
		order.PutUint32(pg[headerLen+offMagic:], metaMagic)
		order.PutUint32(pg[headerLen+offVersion:], metaVersion)
		order.PutUint32(pg[headerLen+offPageSize:], fuzzPage)
		order.PutUint64(pg[headerLen+offRoot:], root)
		order.PutUint64(pg[headerLen+offFreelist:], freelist)
		order.PutUint64(pg[headerLen+offHighWater:], highWater)
		order.PutUint64(pg[headerLen+offTx:], 6+i)
		order.PutUint64(pg[headerLen+offChecksum:], metaSum(pg[headerLen:]))
	}
	return append(b, body...)
}

// addSeeds calls add with some small files, in parts.
func addSeeds(f *testing.F, add func(body []byte, root, freelist, highWater uint64)) {
	seed := func(do func(f *dbFile)) {
		db := newFile(f, fuzzPage)
		do(db)
		b := db.bytes()
		m, err := ReadMeta(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			f.Fatal(err)
		}
		add(b[2*fuzzPage:int(m.HighWater)*fuzzPage], m.Root, m.Freelist, m.HighWater)
	}
	seed(func(*dbFile) {})
	seed(func(db *dbFile) { db.records(1) })
	seed(func(db *dbFile) { db.records(3); db.records(2) })
	seed(func(db *dbFile) { db.records(8) })
	seed(func(db *dbFile) { // an overflow page, and branches of few elements
		db.update(func(tx *bolt.Tx) error {
			for i := range 5 {
				put(bucketAt(tx, "a"), fmt.Sprintf("%0150d", i), make([]byte, i*150))
			}
			return nil
		})
	})
}

// FuzzScan: what passes for sound, bbolt reads in the same way and can write to,
// and then it is still sound.
func FuzzScan(f *testing.F) {
	addSeeds(f, func(body []byte, root, freelist, highWater uint64) { f.Add(body, root, freelist, highWater) })
	f.Fuzz(func(t *testing.T, body []byte, root, freelist, highWater uint64) {
		b := assemble(body, root, freelist, highWater)
		got := content{}
		visits := 0
		err := check(b, func(path [][]byte, key, value []byte) error {
			visits++
			got[fullKey(path, key)] = string(value)
			return nil
		})
		if visits > len(b)/elementLen {
			t.Fatalf("%d visits in %d bytes", visits, len(b))
		}
		m := Meta{PageSize: fuzzPage, Root: root, Freelist: freelist, HighWater: highWater}
		if err != nil {
			isDamage(t, err)
			if err := Descend(b, m, [][]byte{[]byte("networks"), []byte("podnet")}, []byte("allocations")); err != nil {
				isDamage(t, err)
			}
			return
		}
		err = Scan(b, m, func(path [][]byte, key, _ []byte) error { return Descend(b, m, path, key) })
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "db")
		b = append(b, make([]byte, 4096)...) // bbolt opens no file shorter than that
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		db := openFile(t, path, fuzzPage)
		if diff := cmp.Diff(got, db.held()); diff != "" {
			t.Fatal(diff)
		}
		db.update(changeEveryBucket)
		db.update(changeEveryBucket)
		if diff := cmp.Diff(db.held(), scanned(t, db.bytes())); diff != "" {
			t.Fatal(diff)
		}
	})
}

// changeEveryBucket deletes some keys of each bucket, changes some and puts new
// ones.
func changeEveryBucket(tx *bolt.Tx) error {
	var change func(b *bolt.Bucket) error
	change = func(b *bolt.Bucket) error {
		var keys, inner [][]byte
		err := b.ForEach(func(k, v []byte) error {
			if v == nil {
				inner = append(inner, bytes.Clone(k))
			} else if len(k) <= bolt.MaxKeySize {
				keys = append(keys, bytes.Clone(k))
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, k := range keys {
			switch i % 3 {
			case 0:
				err = b.Delete(k)
			case 1:
				err = b.Put(k, bytes.Repeat([]byte{'c'}, 90))
			}
			if err != nil {
				return err
			}
		}
		for _, k := range inner {
			if err := change(b.Bucket(k)); err != nil {
				return err
			}
		}
		for i := range 8 {
			if err := b.Put(fmt.Append(nil, "\x00new", len(keys), i), make([]byte, 60)); err != nil && !errors.Is(err, berrors.ErrIncompatibleValue) {
				return err
			}
		}
		return nil
	}
	return tx.ForEach(func(_ []byte, b *bolt.Bucket) error { return change(b) })
}

// FuzzSalvage: of whatever bytes, it ends; of a sound file it gives all.
func FuzzSalvage(f *testing.F) {
	addSeeds(f, func(body []byte, root, freelist, highWater uint64) {
		for bad := range byte(4) {
			f.Add(body, root, freelist, highWater, bad)
		}
	})
	f.Fuzz(func(t *testing.T, body []byte, root, freelist, highWater uint64, bad byte) {
		b := assemble(body, root, freelist, highWater)
		for i := range 2 {
			if bad&(1<<i) != 0 {
				clear(b[i*fuzzPage:][:fuzzPage])
			}
		}
		got := content{}
		visits := 0
		skipped, err := Salvage(b, func(k Found) error {
			visits++
			if k.Reached && !k.Stale {
				got[fullKey(k.Path, k.Key)] = string(k.Value)
			}
			return nil
		})
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		// Each page is read once, or again within maxAgain, and each element of
		// a leaf may be an inline bucket.
		const perPage = fuzzPage / elementLen * fuzzPage / elementLen
		if most := (maxAgain + 1) * (len(b)/fuzzPage + 1) * perPage; visits > most {
			t.Fatalf("%d visits in %d bytes", visits, len(b))
		}
		want := content{}
		if check(b, func(path [][]byte, key, value []byte) error { want[fullKey(path, key)] = string(value); return nil }) != nil {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" || skipped != 0 {
			t.Fatalf("%d pages skipped of a sound file\n%s", skipped, diff)
		}
	})
}
