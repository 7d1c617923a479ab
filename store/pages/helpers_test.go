package pages

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

var everything = flag.Bool("everything", false, "all wounds and many lives, which takes some minutes")

// dbFile is a bbolt file that is open.
type dbFile struct {
	*bolt.DB
	t    testing.TB
	path string
}

// newFile makes an empty bbolt file as the checkpoint is made, with pages of
// pageSize bytes.
func newFile(t testing.TB, pageSize int) *dbFile {
	t.Helper()
	return openFile(t, filepath.Join(t.TempDir(), "db"), pageSize)
}

func openFile(t testing.TB, path string, pageSize int) *dbFile {
	t.Helper()
	return openWith(t, path, &bolt.Options{PageSize: pageSize})
}

func openWith(t testing.TB, path string, opts *bolt.Options) *dbFile {
	t.Helper()
	opts.FreelistType, opts.NoStatistics, opts.NoSync = bolt.FreelistArrayType, true, true
	db, err := bolt.Open(path, 0o600, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &dbFile{db, t, path}
}

func (f *dbFile) update(fn func(*bolt.Tx) error) {
	f.t.Helper()
	if err := f.Update(fn); err != nil {
		f.t.Fatal(err)
	}
}

// bytes is what the file holds now.
func (f *dbFile) bytes() []byte {
	f.t.Helper()
	b, err := os.ReadFile(f.path)
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

// bucketAt returns the bucket at path, a name and "/" for each level, and makes
// it where it is missing.
func bucketAt(tx *bolt.Tx, path string) *bolt.Bucket {
	var b *bolt.Bucket
	for _, name := range strings.Split(path, "/") {
		var err error
		if b == nil {
			b, err = tx.CreateBucketIfNotExists([]byte(name))
		} else {
			b, err = b.CreateBucketIfNotExists([]byte(name))
		}
		if err != nil {
			panic(err)
		}
	}
	return b
}

func put(b *bolt.Bucket, key string, value []byte) {
	if err := b.Put([]byte(key), value); err != nil {
		panic(err)
	}
}

// records puts n records of a size like that of an allocation, with their index,
// in batches, so that the file has stale and free pages as well.
func (f *dbFile) records(n int) {
	const batch = 50
	for from := 0; from < n; from += batch {
		f.update(func(tx *bolt.Tx) error {
			put(bucketAt(tx, "meta"), "format", bytes.Repeat([]byte("f"), 120))
			put(bucketAt(tx, "meta/stamp"), "1", make([]byte, 8))
			allocations, attachments := bucketAt(tx, "networks/podnet/allocations"), bucketAt(tx, "networks/podnet/attachments")
			for i := from; i < min(n, from+batch); i++ {
				id := fmt.Sprintf("%064x", i*7919)
				put(allocations, fmt.Sprintf("address-%08d", i), fmt.Appendf(nil, `{"id":%q,"ifname":"eth0","padding":%q}`, id, strings.Repeat("x", 60)))
				put(attachments, id+"\x00eth0\x00"+fmt.Sprint(i), nil)
			}
			return nil
		})
	}
}

// check reads the meta pages and scans.
func check(b []byte, visit func(path [][]byte, key, value []byte) error) error {
	m, err := ReadMeta(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	return Scan(b, m, visit)
}

func ignore([][]byte, []byte, []byte) error { return nil }

// content maps each key, with its path, to its value.
type content map[string]string

func fullKey(path [][]byte, key []byte) string {
	return string(bytes.Join(append(path[:len(path):len(path)], key), []byte{'/'}))
}

// scanned is what Scan says the file holds.
func scanned(t testing.TB, b []byte) content {
	t.Helper()
	got := content{}
	err := check(b, func(path [][]byte, key, value []byte) error {
		k := fullKey(path, key)
		if _, ok := got[k]; ok {
			t.Errorf("%q was visited twice", k)
		}
		got[k] = string(value)
		return nil
	})
	if err != nil {
		t.Fatalf("a sound file is damaged: %v", err)
	}
	return got
}

// held is what bbolt says the file holds.
func (f *dbFile) held() content {
	f.t.Helper()
	got := content{}
	err := f.View(func(tx *bolt.Tx) error {
		var path [][]byte
		var walk func(b *bolt.Bucket) error
		walk = func(b *bolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				if v != nil {
					got[fullKey(path, k)] = string(v)
					return nil
				}
				path = append(path, k)
				defer func() { path = path[:len(path)-1] }()
				return walk(b.Bucket(k))
			})
		}
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			path = [][]byte{name}
			return walk(b)
		})
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return got
}

// isDamage fails the test where err is not of a damaged file.
func isDamage(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("the damage was not noticed")
	} else if !errors.Is(err, ErrDamaged) {
		t.Errorf("not told to be damage: %v", err)
	}
}
