package store

import (
	"crypto/sha256"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/record"
)

var (
	opAdd  = Op{Verb: "ADD", Creates: true, Runtime: true}
	opDel  = Op{Verb: "DEL", Runtime: true}
	opTool = Op{Verb: "release"}
)

// node is a data directory and the boot that the node is in.
type node struct {
	*Store
	t    *testing.T
	boot string
	warn []string
}

func newNode(t *testing.T) *node { return newNodeIn(t, filepath.Join(t.TempDir(), "data")) }

func newNodeIn(t *testing.T, dir string) *node {
	n := &node{t: t, boot: "boot-001"}
	n.Store = New(dir, Options{
		LockTimeout: 5 * time.Second,
		Writer:      "0.1.0",
		Warn:        func(line string) { n.warn = append(n.warn, line) },
		BootID:      func() string { return n.boot },
	})
	return n
}

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

func allocation(epoch uint64, addr, id string) record.Allocation {
	return record.Allocation{Addr: ip(addr), Epoch: epoch, Holders: []record.Holder{{
		Attachment: record.Attachment{ContainerID: id, IfName: "eth0"}, Origin: record.OriginAdd,
	}}}
}

func (n *node) update(op Op, fn func(*Network) error) error {
	return n.Update(op, func(tx *Tx) error { return fn(tx.Network("podnet")) })
}

// add gives addr to id, in the running epoch.
func (n *node) add(addr, id string) {
	n.t.Helper()
	err := n.update(opAdd, func(net *Network) error { return net.Put(allocation(net.Epoch(), addr, id)) })
	if err != nil {
		n.t.Fatalf("adding %s for %s: %v", addr, id, err)
	}
}

func (n *node) del(addr string) {
	n.t.Helper()
	if err := n.update(opDel, func(net *Network) error { return net.Delete(ip(addr)) }); err != nil {
		n.t.Fatalf("deleting %s: %v", addr, err)
	}
}

// held maps address to container id and verifies the invariants.
func (n *node) held() map[string]string {
	n.t.Helper()
	got := map[string]string{}
	err := n.Read(func(tx *Tx) error {
		if err := tx.Verify(); err != nil {
			return err
		}
		return tx.Network("podnet").Each(func(a record.Allocation) error {
			got[a.Addr.String()] = a.Holders[0].ContainerID
			return nil
		})
	})
	if err != nil {
		n.t.Fatalf("reading: %v", err)
	}
	return got
}

// digest is of the checkpoint's bytes.
func (n *node) digest() [32]byte {
	n.t.Helper()
	b, err := os.ReadFile(n.Path())
	if err != nil {
		n.t.Fatal(err)
	}
	return sha256.Sum256(b)
}

// byAnother writes to the checkpoint as a program that knows nothing of us.
func (n *node) byAnother(fn func(*bolt.Tx) error) {
	n.t.Helper()
	db, err := bolt.Open(n.Path(), 0o600, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(fn); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) write(name string, b []byte) {
	n.t.Helper()
	if err := os.WriteFile(n.file(name), b, 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) read(name string) []byte {
	n.t.Helper()
	b, err := os.ReadFile(n.file(name))
	if err != nil {
		n.t.Fatal(err)
	}
	return b
}
