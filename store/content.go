package store

import (
	"bytes"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// content is a bucket in memory: its keys, and the buckets in it.
type content struct {
	values  map[string][]byte
	buckets map[string]*content
}

func newContent() *content {
	return &content{values: map[string][]byte{}, buckets: map[string]*content{}}
}

// at returns the bucket at path, nil where there is none.
func (c *content) at(path ...string) *content {
	for _, name := range path {
		if c == nil {
			return nil
		}
		c = c.buckets[name]
	}
	return c
}

// make returns the bucket at path, with all that is missing on the way.
func (c *content) make(path ...string) *content {
	for _, name := range path {
		next := c.buckets[name]
		if next == nil {
			next = newContent()
			c.buckets[name] = next
		}
		c = next
	}
	return c
}

// get returns a value, nil where there is none.
func (c *content) get(path []string, key string) []byte {
	if b := c.at(path...); b != nil {
		return b.values[key]
	}
	return nil
}

func (c *content) put(path []string, key string, value []byte) {
	c.make(path...).values[key] = value
}

// apply makes a change as the journal tells it. The bytes of its value are shared.
func (c *content) apply(ch change) {
	if ch.Value != nil {
		c.put(ch.Path, string(ch.Key), ch.Value)
	} else if b := c.at(ch.Path...); b != nil {
		delete(b.values, string(ch.Key))
		c.prune(ch.Path)
	}
}

// fill writes c into an empty transaction.
func (c *content) fill(tx *bolt.Tx) error {
	for _, name := range slices.Sorted(maps.Keys(c.buckets)) {
		b, err := tx.CreateBucket([]byte(name))
		if err == nil {
			err = c.buckets[name].fillBucket(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *content) fillBucket(b *bolt.Bucket) error {
	for _, key := range slices.Sorted(maps.Keys(c.values)) {
		if err := b.Put([]byte(key), c.values[key]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.buckets)) {
		inner, err := b.CreateBucket([]byte(name))
		if err == nil {
			err = c.buckets[name].fillBucket(inner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readContent copies all that a transaction sees.
func readContent(tx *bolt.Tx) (*content, error) {
	c := newContent()
	err := tx.ForEach(func(name []byte, b *bolt.Bucket) error {
		return c.make(string(name)).read(b)
	})
	return c, err
}

func (c *content) read(b *bolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return c.make(string(k)).read(b.Bucket(k))
		}
		c.values[string(k)] = bytes.Clone(v)
		return nil
	})
}

// each yields the buckets in c, none where it is nil.
func (c *content) each() map[string]*content {
	if c == nil {
		return nil
	}
	return c.buckets
}

// eachValue yields the keys of c, none where it is nil.
func (c *content) eachValue() map[string][]byte {
	if c == nil {
		return nil
	}
	return c.values
}

// equal tells whether both have the same keys and buckets.
func (c *content) equal(other *content) bool {
	return maps.EqualFunc(c.eachValue(), other.eachValue(), bytes.Equal) && maps.EqualFunc(c.each(), other.each(), (*content).equal)
}

// newestEpoch and newestBoot are those of meta/epochs, zero where it has none.
func (c *content) newestEpoch() uint64 { n, _ := c.newest(); return n }

func (c *content) newestBoot() string { _, boot := c.newest(); return boot }

func (c *content) newest() (n uint64, boot string) {
	b := c.at(bucketMeta, bucketEpochs)
	if b == nil {
		return 0, ""
	}
	for id, value := range b.values {
		if m, err := bytesUint64(value); err == nil && m > n {
			n, boot = m, id
		}
	}
	return n, boot
}

// migration is the migration document of a network, nil where there is none that
// can be read.
func (c *content) migration(network string) []byte {
	if c == nil {
		return nil
	}
	doc, err := unseal(network, keyMigration, c.get([]string{bucketNetworks, network}, keyMigration))
	if err != nil {
		return nil
	}
	return doc
}

// knowsBoot tells whether a boot has a number.
func (c *content) knowsBoot(bootID string) bool {
	b := c.at(bucketMeta, bucketEpochs)
	return bootID != "" && b != nil && b.values[bootID] != nil
}

// currentEpoch is the number that a boot has, or would get.
func (c *content) currentEpoch(bootID string) uint64 {
	if bootID != "" && !c.knowsBoot(bootID) {
		return c.newestEpoch() + 1
	}
	return c.newestEpoch()
}

// beginEpoch gives a boot id that was never seen its number, and returns the
// current one.
func (c *content) beginEpoch(bootID string) uint64 {
	epochs := c.make(bucketMeta, bucketEpochs)
	if _, seen := epochs.values[bootID]; !seen && bootID != "" {
		epochs.values[bootID] = uint64Bytes(c.newestEpoch() + 1)
	}
	return c.newestEpoch()
}
