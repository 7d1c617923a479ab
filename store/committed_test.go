package store

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
	bolt "go.etcd.io/bbolt"
)

func TestCommittedIsCalledOnceWhatWasDoneIsDurable(t *testing.T) {
	put := func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.9", "z")) }
	nothing := func(*Network) error { return nil }
	for name, c := range map[string]struct {
		op     Op
		fn     func(*Network) error
		boot   string
		commit func(*bolt.Tx) error
		calls  int
	}{
		"an ADD":                               {op: opAdd, fn: put, calls: 1},
		"a DEL":                                {op: opDel, fn: func(net *Network) error { return net.Delete(ip(addrAt(0))) }, calls: 1},
		"a DEL of nothing":                     {op: opDel, fn: nothing, calls: 1},
		"a DEL of nothing in a new boot":       {op: opDel, fn: nothing, boot: "boot-002", calls: 1},
		"one that fails":                       {op: opAdd, fn: func(net *Network) error { return errors.Join(put(net), errTest) }},
		"one that fails and leaves upkeep":     {op: opAdd, fn: func(*Network) error { return errTest }, boot: "boot-002"},
		"a commit that fails":                  {op: opAdd, fn: put, commit: func(tx *bolt.Tx) error { return errors.Join(tx.Rollback(), syscall.EIO) }},
		"a commit that fails in its last sync": {op: opAdd, fn: put, commit: failLastSync},
		"upkeep that finds no room": {op: opDel, fn: nothing, boot: "boot-002", calls: 1,
			commit: func(tx *bolt.Tx) error { return errors.Join(tx.Rollback(), syscall.ENOSPC) }},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodeWith(t, 2)
			if c.boot != "" {
				n.boot = c.boot
			}
			if c.commit != nil {
				n.commitBolt = c.commit
			}
			calls := 0
			c.op.Committed = func() {
				calls++
				if free, err := flock.New(n.file(LockFile)).TryLock(); free || err != nil {
					t.Errorf("it is called without the lock (%v)", err)
				}
			}
			err := n.update(c.op, c.fn)
			if calls != c.calls || (err == nil) != (c.calls > 0) {
				t.Errorf("%d calls, want %d; err = %v", calls, c.calls, err)
			}
		})
	}
}

func TestCommittedSeesTheCommit(t *testing.T) {
	n := newNode(t)
	op := opAdd
	var seen map[string]string
	op.Committed = func() {
		other := newNodeIn(t, t.TempDir())
		for _, name := range []string{CheckpointFile, JournalFile, LockFile} {
			other.write(name, n.read(name))
		}
		seen = other.held()
		other.journalIsComplete()
	}
	if err := n.update(op, func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.2", "a")) }); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen["10.0.0.2"] != "a" {
		t.Errorf("seen %v", seen)
	}
}

func TestCommittedIsNotCalledWhereThereIsNoCheckpoint(t *testing.T) {
	n := newNode(t)
	op := opDel
	op.Committed = func() { t.Error("it is called") }
	if err := n.update(op, func(*Network) error { t.Error("fn is called"); return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(n.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
}
