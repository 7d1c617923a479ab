package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// moved moves the data directory away and lets another call make it anew.
func (n *node) moved() *node {
	n.t.Helper()
	if err := os.Rename(n.dir, filepath.Join(filepath.Dir(n.dir), "away")); err != nil {
		n.t.Fatal(err)
	}
	other := newNodeIn(n.t, n.dir)
	other.add("10.0.0.3", "b")
	return other
}

// A call that was stopped meanwhile must not write into the new directory, of which
// others have the lock.
func TestACallWhoseDirectoryIsReplacedFails(t *testing.T) {
	put := func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.3", "c")) }
	for name, call := range map[string]func(*node, func()) error{
		"before the commit": func(n *node, move func()) error {
			n.add("10.0.0.2", "a")
			return n.update(opAdd, func(net *Network) error { move(); return put(net) })
		},
		"behind the commit": func(n *node, move func()) error {
			n.add("10.0.0.2", "a")
			n.commitBolt = func(tx *bolt.Tx) error {
				defer move()
				return tx.Commit()
			}
			return n.update(opAdd, put)
		},
		"before what a killed call has left is told": func(n *node, move func()) error {
			n.add("10.0.0.2", "a")
			n.write(LockFile, nil)
			op := opAdd
			op.Precheck = func(*Tx) error { move(); return nil }
			return n.update(op, put)
		},
		"before a new checkpoint is in its place": func(n *node, move func()) error {
			l, err := n.acquireForWriting(opAdd, time.Now().Add(time.Second))
			if err != nil {
				return err
			}
			defer l.Unlock()
			move()
			return n.create(l, n.boot)
		},
		"before another one is": func(n *node, move func()) error {
			n.add("10.0.0.2", "a")
			l, err := n.acquireForWriting(opAdd, time.Now().Add(time.Second))
			if err != nil {
				return err
			}
			defer l.Unlock()
			move()
			_, err = n.replace(l, n.boot, newContent(), Damage{From: SourceNewBoot}, damagedSuffix)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			var other *node
			err := call(n, func() { other = n.moved() })
			if !errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), n.dir) {
				t.Errorf("err = %v", err)
			}
			other.journalIsComplete()
			if got := other.held(); len(got) != 1 || got["10.0.0.3"] != "b" {
				t.Errorf("held %v", got)
			}
			other.add("10.0.0.4", "d")
		})
	}
}
