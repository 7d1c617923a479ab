package store

import (
	"errors"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// A mark of a loss, or where a network's move stands, that nobody finds any more
// gives addresses away.
func TestANameOneBitAwayFromOneOfOursIsDamage(t *testing.T) {
	network := func(tx *bolt.Tx) *bolt.Bucket { return tx.Bucket([]byte(bucketNetworks)).Bucket([]byte("podnet")) }
	for name, put := range map[string]func(tx *bolt.Tx) error{
		"losu":      func(tx *bolt.Tx) error { return network(tx).Put([]byte("losu"), []byte("x")) },
		"migratioo": func(tx *bolt.Tx) error { return network(tx).Put([]byte("migratioo"), []byte("x")) },
		"cursorc": func(tx *bolt.Tx) error {
			b, err := network(tx).CreateBucket([]byte("cursorc"))
			return errors.Join(err, b.Put([]byte("k"), []byte("v")))
		},
		"Accepted": func(tx *bolt.Tx) error { return tx.Bucket([]byte(bucketMeta)).Put([]byte("Accepted"), []byte("x")) },
		"unnumberee": func(tx *bolt.Tx) error {
			b, err := tx.Bucket([]byte(bucketMeta)).CreateBucket([]byte("unnumberee"))
			return errors.Join(err, b.Put([]byte("k"), []byte("v")))
		},
		"oetworks": func(tx *bolt.Tx) error {
			b, err := tx.CreateBucket([]byte("oetworks"))
			return errors.Join(err, b.Put([]byte("k"), []byte("v")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := newFullNode(t).verifyAfter(put)
			if !errors.Is(err, errContent) || !strings.Contains(err.Error(), `"`+name+`" stands in the place of`) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestOneBitIsAFlippedOne(t *testing.T) {
	for name, is := range map[string]string{
		"lost": "", "losu": "lost", "Lost": "lost", "lostt": "", "los": "", "loss": "", "rangdr": "", "rangds": "ranges", "policy": "", "": "",
	} {
		if got := besideOne(name, namesInNetwork); got != is {
			t.Errorf("%q is beside %q, want %q", name, got, is)
		}
	}
	for _, names := range [][]string{namesAtTop, namesInMeta, namesInNetwork} {
		for _, name := range names {
			if other := besideOne(name, names); other != "" {
				t.Errorf("%q is beside our own %q", name, other)
			}
		}
	}
}

// A repair has to end it: what stands under such a name is what ours had, or it is
// dropped.
func TestSanitizeGivesNamesBack(t *testing.T) {
	mark := seal("podnet", keyLost, []byte(`{"epoch":1,"reason":"r"}`))
	c := newContent()
	c.put([]string{bucketNetworks, "podnet"}, "losu", mark)
	c.put([]string{bucketNetworks, "podnet", "allocationr"}, "k", []byte("v"))
	c.put([]string{bucketNetworks, "podnet", bucketAllocations}, "l", []byte("w"))
	c.put([]string{bucketNetworks, "othernet"}, "rangds", []byte("not sealed"))
	c.put([]string{"mete"}, "flags", []byte("f"))
	c.put([]string{bucketMeta}, "Lost", mark) // another's
	if c.unreadable() == nil {
		t.Error("it is readable")
	}
	c.sanitize()
	network := c.at(bucketNetworks, "podnet")
	if names := network.names(); !slices.Equal(names, []string{bucketAllocations, keyLost}) {
		t.Errorf("podnet has %q", names)
	}
	if names := network.at(bucketAllocations).names(); !slices.Equal(names, []string{"k", "l"}) {
		t.Errorf("its allocations are %q", names)
	}
	if string(network.values[keyLost]) != string(mark) {
		t.Errorf("its mark is %q", network.values[keyLost])
	}
	if names := c.at(bucketNetworks, "othernet").names(); len(names) != 0 {
		t.Errorf("othernet has %q", names)
	}
	if names := c.names(); !slices.Equal(names, []string{bucketMeta, bucketNetworks}) {
		t.Errorf("at the top: %q", names)
	}
	if names := c.at(bucketMeta).names(); !slices.Equal(names, []string{"flags"}) {
		t.Errorf("meta has %q", names)
	}
}
