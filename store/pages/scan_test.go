package pages

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
)

func TestScanVisitsWhatBboltIterates(t *testing.T) {
	for _, c := range []struct {
		name     string
		pageSize int
		do       func(f *dbFile)
	}{
		{"a file just created", 0, func(*dbFile) {}},
		{"a key in an inline bucket", 0, func(f *dbFile) {
			f.update(func(tx *bolt.Tx) error { put(bucketAt(tx, "a"), "k", []byte("v")); return nil })
		}},
		{"empty buckets, nested", 0, func(f *dbFile) {
			f.update(func(tx *bolt.Tx) error { bucketAt(tx, "a/b/c"); bucketAt(tx, "a/d"); return nil })
		}},
		{"500 records", 0, func(f *dbFile) { f.records(500) }},
		{"5,000 records in small pages", 512, func(f *dbFile) { f.records(5000) }},
		{"a bucket that was emptied", 0, func(f *dbFile) {
			f.records(300)
			f.update(func(tx *bolt.Tx) error {
				b := bucketAt(tx, "networks/podnet/allocations")
				for i := range 300 {
					if err := b.Delete(fmt.Appendf(nil, "address-%08d", i)); err != nil {
						return err
					}
				}
				return nil
			})
		}},
		{"values longer than a page", 512, func(f *dbFile) {
			f.update(func(tx *bolt.Tx) error {
				for i := range 40 {
					put(bucketAt(tx, "long"), fmt.Sprintf("%04d", i), bytes.Repeat([]byte{byte(i)}, i*100))
				}
				return nil
			})
		}},
		{"buckets in 60 others", 0, func(f *dbFile) {
			f.update(func(tx *bolt.Tx) error {
				path := "0"
				for i := range 60 {
					path += fmt.Sprint("/", i)
				}
				put(bucketAt(tx, path), "k", []byte("v"))
				return nil
			})
		}},
		{"200 buckets of 50 keys", 0, func(f *dbFile) {
			f.update(func(tx *bolt.Tx) error {
				for i := range 10000 {
					put(bucketAt(tx, fmt.Sprint(i%200)), fmt.Sprint(i), make([]byte, i%50))
				}
				return nil
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFile(t, c.pageSize)
			c.do(f)
			if diff := cmp.Diff(f.held(), scanned(t, f.bytes())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What a reader still needs is free in the file, and pending in memory.
func TestPagesThatAReaderHoldsAreFree(t *testing.T) {
	f := openWith(t, filepath.Join(t.TempDir(), "db"), &bolt.Options{InitialMmapSize: 1 << 20}) // or a writer waits for the reader
	f.records(100)
	reader, err := f.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	f.records(90)
	scanned(t, f.bytes())
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	f.records(80)
	scanned(t, f.bytes())
}

// More than 65,534 free pages are counted in another way.
func TestALongFreelistIsSound(t *testing.T) {
	f := newFile(t, 512)
	for from := 0; from < 70000; from += 10000 {
		f.update(func(tx *bolt.Tx) error {
			b := bucketAt(tx, "a")
			for i := range 10000 {
				put(b, fmt.Sprintf("%08d", from+i), make([]byte, 400))
			}
			return nil
		})
	}
	f.update(func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("a")) })
	b := f.bytes()
	scanned(t, b)
	m, err := ReadMeta(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	list := b[m.Freelist*512:]
	if count := order.Uint16(list[10:]); count != longFreelist {
		t.Fatalf("the list has the short form, %d ids", count)
	}
	for name, at := range map[string]int{"count": 16, "first id": 24, "an id in the middle": 24 + 8*33000} {
		old := order.Uint64(list[at:])
		order.PutUint64(list[at:], old+1)
		if err := check(b, ignore); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s, one more: %v", name, err)
		}
		order.PutUint64(list[at:], old)
	}
}

func TestAnErrorOfVisitEndsTheScan(t *testing.T) {
	f := newFile(t, 0)
	f.records(100)
	enough := errors.New("enough")
	visits := 0
	err := check(f.bytes(), func([][]byte, []byte, []byte) error {
		if visits++; visits == 10 {
			return enough
		}
		return nil
	})
	if err != enough || visits != 10 {
		t.Errorf("%v after %d visits", err, visits)
	}
}

func TestScanDoesNotTrustTheMetaItIsGiven(t *testing.T) {
	f := newFile(t, 512)
	f.records(20)
	b := f.bytes()
	good, err := ReadMeta(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(m *Meta){
		func(m *Meta) { m.PageSize = 0 },
		func(m *Meta) { m.PageSize = -512 },
		func(m *Meta) { m.PageSize = 513 },
		func(m *Meta) { m.PageSize = 1024 },
		func(m *Meta) { m.HighWater = 0 },
		func(m *Meta) { m.HighWater = 1 },
		func(m *Meta) { m.HighWater-- },
		func(m *Meta) { m.HighWater = 1<<64 - 1 },
		func(m *Meta) { m.Root = 0 },
		func(m *Meta) { m.Root = 1<<64 - 1 },
		func(m *Meta) { m.Root = m.Freelist },
		func(m *Meta) { m.Freelist = 1 },
		func(m *Meta) { m.Freelist = 1<<64 - 1 },
		func(m *Meta) { m.Freelist = m.Root },
	} {
		m := good
		change(&m)
		if err := Scan(b, m, ignore); !errors.Is(err, ErrDamaged) {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

// bbolt's Check calls it "unreachable unfreed" as well. Nobody who can avoid
// it leaves such pages.
func TestAPageThatBboltLostIsDamage(t *testing.T) {
	f := newFile(t, 512)
	f.records(40)
	f.update(func(tx *bolt.Tx) error {
		b := bucketAt(tx, "networks/podnet")
		put(b, "changed", []byte("in this transaction"))
		return bucketAt(tx, "networks").DeleteBucket([]byte("podnet"))
	})
	isDamage(t, check(f.bytes(), ignore))
}
