package store

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/crc32c"
	"github.com/bolt-local/bolt-local/store/record"
)

// newFullNode has something in every bucket: 10.0.0.2 of container a, fd00::2
// of a and b, 10.0.0.4 of c with no epoch number, and another network.
func newFullNode(t *testing.T) *node {
	n := newNode(t)
	set := record.RangeSet{{Start: ip("10.0.0.1"), End: ip("10.0.0.9")}}
	err := n.Update(opAdd, func(tx *Tx) error {
		net := tx.Network("podnet")
		both := allocation(net.Epoch(), "fd00::2", "a")
		both.Holders = append(both.Holders, allocation(1, "fd00::2", "b").Holders...)
		return errors.Join(
			net.Put(allocation(net.Epoch(), "10.0.0.2", "a")), net.Put(both),
			net.SetCursor(set, ip("10.0.0.2")), net.SetRanges([]record.RangeSet{set}), net.SetMigration([]byte(`{"phase":"expand"}`)),
			tx.Network("other").Put(allocation(net.Epoch(), "10.0.0.2", "d")),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	n.boot = "" // who cannot read it gives no number
	n.add("10.0.0.4", "c")
	n.boot = "boot-001"
	return n
}

// bucketIn is the bucket at path, which must be there.
func bucketIn(tx *bolt.Tx, path ...string) *bolt.Bucket {
	b := tx.Bucket([]byte(path[0]))
	for _, name := range path[1:] {
		b = b.Bucket([]byte(name))
	}
	return b
}

func podnet(tx *bolt.Tx, bucket string) *bolt.Bucket {
	return bucketIn(tx, bucketNetworks, "podnet", bucket)
}

// verifyAfter lets fn change the content as another program would that keeps
// the stamp, so that nothing but Verify can notice.
func (n *node) verifyAfter(fn func(tx *bolt.Tx) error) error {
	n.t.Helper()
	n.byAnother(func(tx *bolt.Tx) error {
		stamp := bucketIn(tx, bucketMeta, bucketStamp)
		return errors.Join(fn(tx), stamp.Put([]byte(keyStampSchema1), uint64Bytes(uint64(tx.ID()))))
	})
	var verdict error
	if err := n.ReadAny(true, func(tx *Tx) error { verdict = tx.Problem(); return nil }); err != nil {
		n.t.Fatalf("it is refused before Verify looks: %v", err)
	}
	return verdict
}

func TestVerifyPassesASoundFile(t *testing.T) {
	if err := newFullNode(t).verifyAfter(func(*bolt.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
	err := newNode(t).Read(func(tx *Tx) error { return tx.Verify() })
	if err != nil {
		t.Errorf("without a checkpoint: %v", err)
	}
}

// putMigration stores value, its checksum included, as a network's migration.
func putMigration(network string, value []byte) func(*bolt.Tx) error {
	return func(tx *bolt.Tx) error {
		b, err := tx.Bucket([]byte(bucketNetworks)).CreateBucketIfNotExists([]byte(network))
		if err != nil {
			return err
		}
		return b.Put([]byte(keyMigration), value)
	}
}

func TestVerifyNamesWhatIsWrong(t *testing.T) {
	key := func(id, addr string) []byte {
		return attachmentKey(record.Attachment{ContainerID: id, IfName: "eth0"}, ip(addr))
	}
	flip := func(at int) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			b := podnet(tx, bucketAllocations)
			value := slices.Clone(b.Get(addrKey(ip("10.0.0.2"))))
			value[at] ^= 1
			return b.Put(addrKey(ip("10.0.0.2")), value)
		}
	}
	putRanges := func(value []byte) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			return bucketIn(tx, bucketNetworks, "podnet").Put([]byte(keyRanges), value)
		}
	}
	for name, c := range map[string]struct {
		do    func(tx *bolt.Tx) error
		words []string
	}{
		"an attachment without an allocation": {
			func(tx *bolt.Tx) error { return podnet(tx, bucketAttachments).Put(key("x", "10.0.0.9"), nil) },
			[]string{"network podnet", "container x, ifname eth0 lists 10.0.0.9, which it does not hold"}},
		"an attachment with another's allocation": {
			func(tx *bolt.Tx) error { return podnet(tx, bucketAttachments).Put(key("x", "10.0.0.2"), nil) },
			[]string{"network podnet", "container x, ifname eth0 lists 10.0.0.2, which it does not hold"}},
		"a holder that does not list its address": {
			func(tx *bolt.Tx) error { return podnet(tx, bucketAttachments).Delete(key("a", "10.0.0.2")) },
			[]string{"network podnet", "10.0.0.2 is held by container a, ifname eth0, which does not list it"}},
		"a second holder that does not": {
			func(tx *bolt.Tx) error { return podnet(tx, bucketAttachments).Delete(key("b", "fd00::2")) },
			[]string{"network podnet", "fd00::2 is held by container b, ifname eth0, which does not list it"}},
		"an allocation that is gone": {
			func(tx *bolt.Tx) error { return podnet(tx, bucketAllocations).Delete(addrKey(ip("fd00::2"))) },
			[]string{"container a, ifname eth0 lists fd00::2", "container b, ifname eth0 lists fd00::2"}},
		"an attachment key without a NUL": {
			func(tx *bolt.Tx) error { return podnet(tx, bucketAttachments).Put([]byte("zz-eth0"), nil) },
			[]string{"network podnet", `the attachment key "zz-eth0"`}},
		"an attachment key without an ifname's end": {
			func(tx *bolt.Tx) error {
				return podnet(tx, bucketAttachments).Put(append([]byte("zz\x00eth0"), addrKey(ip("10.0.0.2"))...), nil)
			},
			[]string{"network podnet", `the attachment key "zz\x00eth0`}},
		"a cursor that is too short": {
			func(tx *bolt.Tx) error {
				return podnet(tx, bucketCursors).Put([]byte("10.0.0.1-10.0.0.9"), []byte{10, 0, 0})
			},
			[]string{"network podnet", `cursor "10.0.0.1-10.0.0.9"`, "length of 3,"}},
		"a cursor that is too long": {
			func(tx *bolt.Tx) error { return podnet(tx, bucketCursors).Put([]byte("some"), make([]byte, addrLen+1)) },
			[]string{"network podnet", `cursor "some"`, "length of 17,"}},
		"a record with a number among those without": {
			func(tx *bolt.Tx) error {
				return bucketIn(tx, bucketMeta, bucketUnnumbered).Put(unnumberedKey("podnet", ip("10.0.0.2")), nil)
			},
			[]string{"meta/unnumbered", "podnet"}},
		"no record among those without a number": {
			func(tx *bolt.Tx) error {
				return bucketIn(tx, bucketMeta, bucketUnnumbered).Put(unnumberedKey("gone", ip("10.0.0.2")), nil)
			},
			[]string{"meta/unnumbered", "gone"}},
		"a record without a number that is not among them": {
			func(tx *bolt.Tx) error {
				return bucketIn(tx, bucketMeta, bucketUnnumbered).Delete(unnumberedKey("podnet", ip("10.0.0.4")))
			},
			[]string{"podnet", "is not in meta/unnumbered"}},
		"no list of those without a number": {
			func(tx *bolt.Tx) error { return tx.Bucket([]byte(bucketMeta)).DeleteBucket([]byte(bucketUnnumbered)) },
			[]string{"podnet", "is not in meta/unnumbered"}},
		"a bit of a record's epoch":    {flip(7), []string{"network podnet", "10.0.0.2", "checksum"}},
		"a bit of a record's checksum": {flip(8), []string{"network podnet", "10.0.0.2", "checksum"}},
		"a bit of a record's text":     {flip(40), []string{"network podnet", "10.0.0.2", "checksum"}},
		"a record under another address": {
			func(tx *bolt.Tx) error {
				b := podnet(tx, bucketAllocations)
				return b.Put(addrKey(ip("10.0.0.3")), slices.Clone(b.Get(addrKey(ip("10.0.0.2")))))
			},
			[]string{"network podnet", "10.0.0.3", "checksum"}},
		"a record in another network": {
			func(tx *bolt.Tx) error {
				value := bucketIn(tx, bucketNetworks, "other", bucketAllocations).Get(addrKey(ip("10.0.0.2")))
				return podnet(tx, bucketAllocations).Put(addrKey(ip("10.0.0.2")), slices.Clone(value))
			},
			[]string{"network podnet", "10.0.0.2", "checksum"}},
		"a record that is cut off": {
			func(tx *bolt.Tx) error { return podnet(tx, bucketAllocations).Put(addrKey(ip("10.0.0.2")), []byte{1}) },
			[]string{"network podnet", "10.0.0.2 has 1 bytes"}},
		"a key that is no address": {
			func(tx *bolt.Tx) error { return podnet(tx, bucketAllocations).Put([]byte("10.0.0.2"), []byte{1}) },
			[]string{"network podnet", "an address key has a length of 8,"}},
		"ranges with a wrong checksum": {putRanges([]byte("\x00\x00\x00\x00[]")), []string{"network podnet", "the ranges: wrong checksum"}},
		"ranges that are cut off":      {putRanges([]byte{0, 0}), []string{"network podnet", "the ranges: wrong checksum"}},
		"a migration that is cut off":  {putMigration("podnet", []byte{0, 0}), []string{"network podnet", "the migration: wrong checksum"}},
		"a bit of a migration": {
			func(tx *bolt.Tx) error {
				value := slices.Clone(bucketIn(tx, bucketNetworks, "podnet").Get([]byte(keyMigration)))
				value[9] ^= 1
				return putMigration("podnet", value)(tx)
			},
			[]string{"network podnet", "the migration: wrong checksum"}},
		"a migration in another network": {
			func(tx *bolt.Tx) error {
				whole := slices.Clone(bucketIn(tx, bucketNetworks, "podnet").Get([]byte(keyMigration)))
				return putMigration("third", whole)(tx)
			},
			[]string{"network third", "the migration: wrong checksum"}},
		"ranges that are no ranges": {
			putRanges(append(binary.BigEndian.AppendUint32(nil, crc32c.Sum([]byte("junk"))), "junk"...)),
			[]string{"network podnet", "the ranges: "}},
	} {
		t.Run(name, func(t *testing.T) {
			err := newFullNode(t).verifyAfter(c.do)
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("err = %v, want one of damage", err)
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error does not say %q: %v", w, err)
				}
			}
			if strings.Contains(err.Error(), "network other") {
				t.Errorf("the sound network is blamed: %v", err)
			}
		})
	}
}

func TestVerifyNamesAllThatIsWrong(t *testing.T) {
	err := newFullNode(t).verifyAfter(func(tx *bolt.Tx) error {
		return errors.Join(
			podnet(tx, bucketAttachments).Put(attachmentKey(record.Attachment{ContainerID: "x", IfName: "eth0"}, ip("10.0.0.9")), nil),
			podnet(tx, bucketAttachments).Delete(attachmentKey(record.Attachment{ContainerID: "a", IfName: "eth0"}, ip("10.0.0.2"))),
			podnet(tx, bucketCursors).Put([]byte("some"), []byte{1}),
			bucketIn(tx, bucketNetworks, "podnet").Put([]byte(keyRanges), nil),
			bucketIn(tx, bucketMeta, bucketUnnumbered).Delete(unnumberedKey("podnet", ip("10.0.0.4"))),
			bucketIn(tx, bucketNetworks, "other", bucketAttachments).Delete(attachmentKey(record.Attachment{ContainerID: "d", IfName: "eth0"}, ip("10.0.0.2"))),
		)
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range []string{"container x, ifname eth0 lists 10.0.0.9", "held by container a", `cursor "some"`, "the ranges", "not in meta/unnumbered", "held by container d"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
}

// Every bit of a record, one after the other, in a transaction that is never
// committed.
func TestNoFlippedBitOfARecordGoesUnnoticed(t *testing.T) {
	n := newFullNode(t)
	err := n.Update(opTool, func(tx *Tx) error {
		b := podnet(tx.bolt, bucketAllocations)
		key := addrKey(ip("fd00::2"))
		whole := slices.Clone(b.Get(key))
		for bit := range 8 * len(whole) {
			bad := slices.Clone(whole)
			bad[bit/8] ^= 1 << (bit % 8)
			if err := b.Put(key, bad); err != nil {
				return err
			}
			if err := tx.Verify(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "fd00::2 has checksum") {
				t.Errorf("bit %d: %v", bit, err)
			}
		}
		return errTest
	})
	if !errors.Is(err, errTest) {
		t.Fatal(err)
	}
}

// One thing that is wrong must not make what is sound look so.
func TestVerifyAccusesNobodyElse(t *testing.T) {
	n := newNodeWith(t, 4)
	err := n.verifyAfter(func(tx *bolt.Tx) error {
		b := podnet(tx, bucketAllocations)
		value := slices.Clone(b.Get(addrKey(ip(addrAt(0)))))
		value[len(value)-2] ^= 1
		return errors.Join(b.Put(addrKey(ip(addrAt(0))), value), podnet(tx, bucketAttachments).Put([]byte("!bad"), nil))
	})
	if !errors.Is(err, ErrDamaged) {
		t.Fatalf("err = %v", err)
	}
	for i := 1; i < 4; i++ {
		if strings.Contains(err.Error(), addrAt(i)+" ") {
			t.Errorf("%s is accused:\n%v", addrAt(i), err)
		}
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 2 {
		t.Errorf("%d violations, want 2:\n%v", lines, err)
	}
}
