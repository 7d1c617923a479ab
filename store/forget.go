package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// Forget removes all that is stored of a network, which need not be stored: its
// keys, those in meta/unnumbered included, and with the commit its bucket.
// meta/damage stays, as what it tells is told until somebody has acknowledged it.
func (t *Tx) Forget(network string) error {
	path := []string{bucketNetworks, network}
	b := t.bucket(path)
	if b == nil {
		return nil
	}
	if t.readOnly != nil {
		return t.readOnly
	}
	t.pages.scan() // bbolt goes through all of the bucket
	before := len(t.changes)
	if err := t.removeTree(path, b); err != nil {
		return err
	}
	if err := t.removePrefix([]string{bucketMeta, bucketUnnumbered}, append([]byte(network), 0)); err != nil {
		return err
	}
	t.forgotten = append(t.forgotten, network)
	if len(t.changes) == before { // without a change it would not be committed
		return t.put([]string{bucketMeta}, []byte(keyCommit), []byte(t.commit))
	}
	return nil
}

// dropForgotten removes the buckets of forgotten networks, just before the commit:
// what is taken back until then finds them. One that has come again stays.
func (t *Tx) dropForgotten() error {
	for _, network := range t.forgotten {
		b := t.bucket([]string{bucketNetworks, network})
		if b == nil || !isEmpty(b) {
			continue
		}
		if err := deleteTree(t.bucket([]string{bucketNetworks}), []byte(network)); err != nil {
			return fmt.Errorf("writing to %s: %w", t.store.Path(), err)
		}
	}
	return nil
}

// deleteTree deletes a bucket, those in it first: bbolt's own DeleteBucket passes
// over every second of them where the transaction has changed their parent, and
// their pages would belong to nobody.
func deleteTree(parent *bolt.Bucket, name []byte) error {
	var inner [][]byte
	b := parent.Bucket(name)
	err := b.ForEachBucket(func(k []byte) error {
		inner = append(inner, bytes.Clone(k))
		return nil
	})
	for _, k := range inner {
		err = errors.Join(err, deleteTree(b, k))
	}
	return errors.Join(err, parent.DeleteBucket(name))
}

// isEmpty tells whether neither b nor the buckets in it have a key.
func isEmpty(b *bolt.Bucket) bool {
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if v != nil || !isEmpty(b.Bucket(k)) {
			return false
		}
	}
	return true
}

// removeTree removes all keys of the bucket b at path and of those in it. The
// buckets stay, empty.
func (t *Tx) removeTree(path []string, b *bolt.Bucket) error {
	if err := t.removeAll(path, b); err != nil {
		return err
	}
	return b.ForEachBucket(func(name []byte) error {
		return t.removeTree(append(slices.Clip(path), string(name)), b.Bucket(name))
	})
}

// removePrefix removes all keys of the bucket at path that begin with prefix.
func (t *Tx) removePrefix(path []string, prefix []byte) error {
	b := t.bucket(path)
	if b == nil {
		return nil
	}
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	return t.removeKeys(path, keys)
}

// prune drops the network of path once nothing is left in it: a journal tells of
// keys alone, and a network without any was forgotten.
func (c *content) prune(path []string) {
	if len(path) < 2 || path[0] != bucketNetworks {
		return
	}
	if network := c.at(path[:2]...); network != nil && network.empty() {
		delete(c.at(bucketNetworks).buckets, path[1])
	}
}

// empty tells whether neither the bucket nor those in it have a key.
func (c *content) empty() bool {
	for _, inner := range c.buckets {
		if !inner.empty() {
			return false
		}
	}
	return len(c.values) == 0
}
