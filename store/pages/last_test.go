package pages

import (
	"bytes"
	"os"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func TestTheLastTransactionOfADamagedFile(t *testing.T) {
	path := t.TempDir() + "/db"
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	var last uint64
	for range 3 {
		if err := db.Update(func(tx *bolt.Tx) error { last = uint64(tx.ID()); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := os.Getpagesize()
	newer := int(last%2) * size
	zeroed := func(pages ...int) []byte {
		b := bytes.Clone(whole)
		for _, at := range pages {
			clear(b[at : at+size])
		}
		return b
	}
	for name, c := range map[string]struct {
		data []byte
		want uint64
		ok   bool
	}{
		"sound":               {whole, last, true},
		"cut after its metas": {whole[:2*size], last, true},
		"the older page gone": {zeroed(size - newer), last + 1, true},
		"the newer page gone": {zeroed(newer), last, true},
		"both gone":           {zeroed(0, size), 0, false},
		"empty":               {nil, 0, false},
	} {
		tx, ok := LastTx(bytes.NewReader(c.data))
		if tx != c.want || ok != c.ok {
			t.Errorf("%s: %d, %v; want %d, %v", name, tx, ok, c.want, c.ok)
		}
	}
}
