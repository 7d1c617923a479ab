package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
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

// byAnother writes to the checkpoint as a program that knows nothing of us, with
// meta/commit as versions have it that know no checksum.
func (n *node) byAnother(fn func(*bolt.Tx) error) {
	n.t.Helper()
	db, err := bolt.Open(n.Path(), 0o600, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error { return errors.Join(fn(tx), withoutSum(tx)) })
	if err != nil {
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

// withoutSum leaves meta/commit as a version without the checksum would.
func withoutSum(tx *bolt.Tx) error {
	meta := tx.Bucket([]byte(bucketMeta))
	if meta == nil || len(meta.Get([]byte(keyCommit))) < commitIDLen {
		return nil
	}
	return meta.Put([]byte(keyCommit), bytes.Clone(meta.Get([]byte(keyCommit))[:commitIDLen]))
}

// flipBit flips a bit behind each place where what stands in the checkpoint.
func (n *node) flipBit(what []byte, bit int) {
	n.t.Helper()
	b := n.read(CheckpointFile)
	good := bytes.Clone(b)
	if !bytes.Contains(good, what) {
		n.t.Fatalf("%q is not in the file", what)
	}
	for at := 0; ; at++ {
		next := bytes.Index(good[at:], what)
		if next < 0 {
			break
		}
		at += next
		b[at+bit/8] ^= 1 << (bit % 8)
	}
	n.write(CheckpointFile, b)
}

// asBefore leaves the checkpoint as the last call of a version without the checksum
// in meta/commit, and the witness with it.
func (n *node) asBefore() {
	n.t.Helper()
	w, _, err := readWitness(n.file(LockFile))
	if err != nil {
		n.t.Fatal(err)
	}
	n.byAnother(func(tx *bolt.Tx) error {
		w.Tx = uint64(tx.ID())
		return bucketIn(tx, bucketMeta, bucketStamp).Put([]byte(keyStampSchema1), uint64Bytes(w.Tx))
	})
	if err := writeWitness(n.file(LockFile), w); err != nil {
		n.t.Fatal(err)
	}
}
