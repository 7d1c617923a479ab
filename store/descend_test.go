package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/record"
)

// newBigNode has more pages than are looked at in each call: 10.0.1.0 and the
// 2,999 addresses after it are held.
func newBigNode(t *testing.T) *node {
	n := newNode(t)
	err := n.update(opAdd, func(net *Network) error {
		addr := ip("10.0.1.0")
		for i := range 3000 {
			if err := net.Put(allocation(net.Epoch(), addr.String(), fmt.Sprintf("c%d", i))); err != nil {
				return err
			}
			addr = addr.Next()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := n.inspectFile(false, false)
	if err != nil {
		t.Fatal(err)
	}
	if m.HighWater <= scanPages {
		t.Fatalf("%d pages: this file is scanned", m.HighWater)
	}
	return n
}

// A branch page that leads back to itself makes bbolt call itself until the
// process ends.
func TestABranchThatLeadsToItselfIsDamage(t *testing.T) {
	n := newBigNode(t)
	db, err := bolt.Open(n.Path(), 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var root int
	err = db.View(func(tx *bolt.Tx) error {
		root = int(podnet(tx, bucketAllocations).Root())
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	b := n.read(CheckpointFile)
	size := os.Getpagesize()
	page := b[root*size : (root+1)*size]
	const countAt, headerLen, elementLen, childAt = 10, 16, 16, 8 // bbolt's branch page
	for i := range int(binary.NativeEndian.Uint16(page[countAt:])) {
		binary.NativeEndian.PutUint64(page[headerLen+i*elementLen+childAt:], uint64(root))
	}
	n.write(CheckpointFile, b)
	reading := func(fn func(*Network) error) func() error {
		return func() error { return n.Read(func(tx *Tx) error { return fn(tx.Network("podnet")) }) }
	}
	for name, call := range map[string]func() error{
		"ADD": func() error {
			return n.update(opAdd, func(net *Network) error { return net.Put(allocation(1, "10.0.1.7", "z")) })
		},
		"DEL":  func() error { return n.update(opDel, func(net *Network) error { return net.Delete(ip("10.0.1.7")) }) },
		"Get":  reading(func(net *Network) error { _, _, err := net.Get(ip("10.0.1.7")); return err }),
		"Each": reading(func(net *Network) error { return net.Each(func(record.Allocation) error { return nil }) }),
		"FirstFree": reading(func(net *Network) error {
			_, _, err := net.FirstFree(ip("10.0.1.0"), ip("10.0.50.0"), func(record.Allocation) bool { return false })
			return err
		}),
	} {
		if err := call(); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is looked at on the way finds everything that is there.
func TestABigFileIsReadAsASmallOne(t *testing.T) {
	n := newBigNode(t)
	err := n.update(opAdd, func(net *Network) error {
		free, ok, err := net.FirstFree(ip("10.0.1.0"), ip("10.0.50.0"), func(record.Allocation) bool { return false })
		if err != nil || !ok || free != ip("10.0.12.184") {
			t.Errorf("first free: %s, %v, %v", free, ok, err)
		}
		held, err := net.HeldBy(record.Attachment{ContainerID: "c2999", IfName: "eth0"})
		if err != nil || len(held) != 1 || held[0].Addr != ip("10.0.12.183") {
			t.Errorf("held by the last: %v, %v", held, err)
		}
		return errors.Join(net.Delete(ip("10.0.1.0")), net.Put(allocation(net.Epoch(), free.String(), "new")))
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := n.held(); len(got) != 3000 || got["10.0.1.0"] != "" || got["10.0.12.184"] != "new" {
		t.Errorf("%d held", len(got))
	}
}

// A network has both indexes or neither.
func TestAFlippedBitInANameIsNoticedInABigFile(t *testing.T) {
	new := record.Attachment{ContainerID: "new", IfName: "eth0"}
	n := newBigNode(t)
	err := n.update(opTool, func(net *Network) error { return errors.Join(net.SetMigration([]byte("{}")), net.Lose("test")) })
	if err != nil {
		t.Fatal(err)
	}
	good := n.read(CheckpointFile)
	for _, name := range []string{bucketAllocations, bucketAttachments, "podnet", bucketNetworks, keyLost, keyMigration} {
		for what, call := range map[string]func(*Network) error{
			"an ADD": func(net *Network) error {
				_, err := net.Migration()
				if _, lost := net.Lost(); err != nil || net.Exists() && !lost {
					return errors.Join(err, errTest)
				}
				if _, err := net.HeldBy(new); err != nil {
					return err
				}
				_, _, err = net.FirstFree(ip("10.0.2.0"), ip("10.0.50.0"), func(record.Allocation) bool { return false })
				return err
			},
			"a DEL": func(net *Network) error {
				_, err := net.Migration()
				_, heldErr := net.HeldBy(record.Attachment{ContainerID: "c7", IfName: "eth0"})
				_, _ = net.Lost()
				return errors.Join(err, heldErr)
			},
			"GC": func(net *Network) error { return net.Each(func(record.Allocation) error { return nil }) },
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				n.write(CheckpointFile, good)
				n.flipBit([]byte(name), 8*(len(name)-1)+1)
				if err := n.update(opDel, call); !errors.Is(err, ErrDamaged) {
					t.Errorf("err = %v", err)
				}
			})
		}
	}
}

func TestANetworkThatIsNewInABigFileIsNoDamage(t *testing.T) {
	n := newBigNode(t)
	err := n.Update(opAdd, func(tx *Tx) error {
		net := tx.Network("another")
		free, ok, err := net.FirstFree(ip("10.2.0.1"), ip("10.2.0.9"), func(record.Allocation) bool { return false })
		if err != nil || !ok || free != ip("10.2.0.1") {
			t.Errorf("%s is free, %t, %v", free, ok, err)
		}
		return net.Put(allocation(net.Epoch(), "10.2.0.1", "z"))
	})
	if err != nil {
		t.Fatal(err)
	}
}
