package store

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/record"
)

func (n *node) epochs() (current uint64, of map[string]uint64) {
	n.t.Helper()
	of = map[string]uint64{}
	err := n.Read(func(tx *Tx) error {
		if err := tx.Verify(); err != nil {
			return err
		}
		current = tx.Epoch()
		return tx.Network("podnet").Each(func(a record.Allocation) error {
			of[a.Addr.String()] = a.Epoch
			return nil
		})
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return current, of
}

func TestEpochs(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	if current, of := n.epochs(); current != 1 || of["10.0.0.2"] != 1 {
		t.Errorf("first boot: current %d, record %v", current, of)
	}

	n.boot = "boot-002"
	if current, of := n.epochs(); current != 2 || of["10.0.0.2"] != 1 {
		t.Errorf("after a reboot, nothing written yet: current %d, record %v", current, of)
	}
	n.add("10.0.0.3", "b")
	if current, of := n.epochs(); current != 2 || of["10.0.0.3"] != 2 {
		t.Errorf("second boot: current %d, record %v", current, of)
	}

	n.boot = "boot-001" // a container's view
	n.add("10.0.0.4", "c")
	if current, of := n.epochs(); current != 2 || of["10.0.0.4"] != 2 {
		t.Errorf("under a known boot id: current %d, record %v", current, of)
	}

	n.boot = "" // not readable: the newest number may be an earlier boot's
	n.add("10.0.0.5", "d")
	if current, of := n.epochs(); current != 2 || of["10.0.0.5"] != 0 {
		t.Errorf("under no boot id: current %d, record %v", current, of)
	}
}

func TestANewEpochIsKeptWhenTheVerbFails(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.boot = "boot-002"
	if err := n.Update(opAdd, func(*Tx) error { return errTest }); !errors.Is(err, errTest) {
		t.Fatalf("err = %v", err)
	}
	n.boot = "boot-001" // known, so the newest number counts
	if current, _ := n.epochs(); current != 2 {
		t.Errorf("current = %d, want 2", current)
	}
}

func TestOperatorsBeginNoEpoch(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.add("10.0.0.3", "b")
	n.boot = "boot-002"
	if err := n.update(opTool, func(net *Network) error { return net.Delete(ip("10.0.0.2")) }); err != nil {
		t.Fatal(err)
	}
	n.boot = "boot-001"
	if current, _ := n.epochs(); current != 1 {
		t.Errorf("current = %d, want 1", current)
	}
}

func TestRecordsWithoutANumberGetTheNextRuntimeVerbs(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.boot = "boot-002"
	n.record("10.0.0.3", "b")
	if _, of := n.epochs(); of["10.0.0.3"] != 0 {
		t.Errorf("record %v, want 0", of)
	}
	n.del("10.0.0.99") // nothing to delete, but upkeep is due
	if _, of := n.epochs(); of["10.0.0.3"] != 2 || of["10.0.0.2"] != 1 {
		t.Errorf("records %v, want 2 and 1", of)
	}
}

// Else it would be held for the whole of the next boot.
func TestInABootThatHasANumberWhatAToolRecordsGetsIt(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.record("10.0.0.3", "b")
	n.boot = "boot-002"
	n.del("10.0.0.99")
	if current, of := n.epochs(); current != 2 || of["10.0.0.3"] != 1 {
		t.Errorf("record %v in epoch %d, want 1 in 2", of, current)
	}
}

// Else no call would have it healed, and each of a new boot would fail.
func TestAnUnnumberedKeyThatNamesNoRecordIsDamage(t *testing.T) {
	for _, key := range []string{"podnet", "pod\x00net\x00" + string(addrKey(ip("10.0.0.3")))} {
		n := newNode(t)
		n.add("10.0.0.2", "a")
		n.record("10.0.0.3", "b")
		_ = n.verifyAfter(func(tx *bolt.Tx) error {
			b, err := tx.Bucket([]byte(bucketMeta)).CreateBucketIfNotExists([]byte(bucketUnnumbered))
			if err != nil {
				return err
			}
			return b.Put([]byte(key), nil)
		})
		n.boot = "boot-002"
		err := n.update(opDel, func(net *Network) error { return net.Delete(ip("10.0.0.99")) })
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// record is what a command of the operator stores.
func (n *node) record(addr, id string) {
	n.t.Helper()
	err := n.update(opTool, func(net *Network) error { return net.Put(allocation(0, addr, id)) })
	if err != nil {
		n.t.Fatal(err)
	}
}

func TestANodeWithoutBootIDsWorks(t *testing.T) {
	n := newNode(t)
	n.boot = ""
	n.add("10.0.0.2", "a")
	if current, of := n.epochs(); current != 0 || of["10.0.0.2"] != 0 {
		t.Errorf("current %d, record %v", current, of)
	}
	n.boot = "boot-001"
	n.add("10.0.0.3", "b")
	if _, of := n.epochs(); of["10.0.0.2"] != 1 || of["10.0.0.3"] != 1 {
		t.Errorf("records %v", of)
	}
}

// A DEL of what is not there must not stick a pod because a full disk has no
// room for the new epoch.
func TestUpkeepAloneDoesNotFailOnAFullDisk(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.boot = "boot-002"
	n.commitBolt = func(tx *bolt.Tx) error { return errors.Join(tx.Rollback(), syscall.ENOSPC) }
	n.del("10.0.0.77")
	if len(n.warn) == 0 {
		t.Error("nothing was said")
	}
	if err := n.update(opDel, func(net *Network) error { return net.Delete(ip("10.0.0.2")) }); !errors.Is(err, ErrNoSpace) {
		t.Errorf("a DEL that has something to write: %v", err)
	}
	if err := n.update(opAdd, func(*Network) error { return nil }); !errors.Is(err, ErrNoSpace) {
		t.Errorf("an ADD: %v", err)
	}
	n.commitBolt = (*bolt.Tx).Commit
	n.del("10.0.0.77")
	if current, _ := n.epochs(); current != 2 {
		t.Errorf("current = %d, want 2", current)
	}
}

// Else all that is held would be of an earlier boot, and free.
func TestAFlippedBitInTheBootsIsNoticed(t *testing.T) {
	boot, number := []byte("boot-001"), uint64Bytes(1)
	for name, c := range map[string]struct {
		flip    int // which bit behind the beginning of the boot
		without bool
	}{
		"in the number": {flip: 8 * (len(boot) + 6)},
		"in the id":     {flip: 8*(len(boot)-1) + 2},
		"in the id, of a file without a checksum": {flip: 8*(len(boot)-1) + 2, without: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.add("10.0.0.2", "a")
			n.add("10.0.0.3", "b")
			if c.without {
				n.asBefore()
			}
			n.flipBit(append(bytes.Clone(boot), number...), c.flip)
			err := n.update(opAdd, func(net *Network) error {
				free, _, err := net.FirstFree(ip("10.0.0.2"), ip("10.0.0.9"), func(record.Allocation) bool { return true })
				if err == nil {
					t.Errorf("%s is free", free)
				}
				return err
			})
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("err = %v", err)
			}
			if c.without {
				return // the other version has left no journal
			}
			if err := n.heal(); err != nil {
				t.Fatal(err)
			}
			if got := n.held(); len(got) != 2 {
				t.Errorf("held %v", got)
			}
		})
	}
}
