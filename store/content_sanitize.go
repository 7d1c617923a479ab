package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// unreadable is the first thing in c that whoever reads it takes for damage, nil
// where all of it can be read. A journal that was begun anew from a checkpoint
// with damage that nobody had noticed has it, too.
func (c *content) unreadable() error {
	if lost := c.get([]string{bucketMeta}, keyLost); lost != nil {
		if _, err := unseal("", keyLost, lost); err != nil {
			return fmt.Errorf("meta/%s: %w", keyLost, err)
		}
	}
	if err := c.besideOurs(); err != nil {
		return err
	}
	networks := c.at(bucketNetworks).each()
	for _, name := range slices.Sorted(maps.Keys(networks)) {
		network := networks[name]
		for key, value := range network.values {
			if _, err := unseal(name, key, value); isDocument(key) && err != nil {
				return fmt.Errorf("network %s: the %s: %w", name, key, err)
			}
		}
		for key, value := range network.at(bucketAllocations).eachValue() {
			if addr, err := keyAddr([]byte(key)); err != nil || !record.Sound(name, addr, value) {
				return fmt.Errorf("network %s: the record under %x: %w", name, key, errSeal)
			}
		}
	}
	return nil
}

// places are the buckets in c in which we have names, with these.
func (c *content) places() map[*content][]string {
	at := map[*content][]string{c: namesAtTop}
	if meta := c.at(bucketMeta); meta != nil {
		at[meta] = namesInMeta
	}
	for _, network := range c.at(bucketNetworks).each() {
		at[network] = namesInNetwork
	}
	return at
}

// besideOurs is that a name in c is one bit away from one of ours.
func (c *content) besideOurs() error {
	for b, ours := range c.places() {
		for _, name := range b.names() {
			if is := besideOne(name, ours); is != "" {
				return fmt.Errorf("%q stands in the place of %q", name, is)
			}
		}
	}
	return nil
}

// names are those of the keys and the buckets in c.
func (c *content) names() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range c.values {
			if !yield(name) {
				return
			}
		}
		for name := range c.buckets {
			if !yield(name) {
				return
			}
		}
	})
}

// respell gives a name that is one bit away from one of ours that one, and drops
// what has it where that is there.
func (c *content) respell() {
	respell := func(b *content, ours []string) {
		for _, name := range b.names() {
			is := besideOne(name, ours)
			if is == "" {
				continue
			}
			if value, there := b.values[name]; there && b.values[is] == nil {
				b.values[is] = value
			}
			if inner := b.buckets[name]; inner != nil {
				b.make(is).fillIn(inner)
			}
			delete(b.values, name)
			delete(b.buckets, name)
		}
	}
	respell(c, namesAtTop) // what is below has its place then
	for b, ours := range c.places() {
		respell(b, ours)
	}
}

// dropKeysOfBuckets drops keys where a bucket belongs: one bit of a page tells the
// one from the other.
func (c *content) dropKeysOfBuckets() {
	drop := func(b *content, names ...string) {
		if b != nil {
			for _, name := range names {
				delete(b.values, name)
			}
		}
	}
	drop(c, bucketMeta, bucketNetworks)
	drop(c.at(bucketMeta), bucketEpochs, bucketStamp, bucketDamage, bucketUnnumbered)
	if networks := c.at(bucketNetworks); networks != nil {
		clear(networks.values)
	}
	for _, network := range c.at(bucketNetworks).each() {
		drop(network, bucketAllocations, bucketAttachments, bucketCursors, bucketDeferred)
	}
}

// sanitize drops what a damaged file has under keys that have to be readable.
func (c *content) sanitize() {
	c.respell()
	c.dropKeysOfBuckets()
	for name, network := range c.at(bucketNetworks).each() {
		for key, value := range network.values {
			if _, err := unseal(name, key, value); isDocument(key) && err != nil {
				delete(network.values, key)
			}
		}
		for key, value := range network.at(bucketCursors).eachValue() {
			if len(value) != addrLen {
				delete(network.at(bucketCursors).values, key)
			}
		}
	}
	for key, value := range c.at(bucketMeta, bucketEpochs).eachValue() {
		if len(value) != 8 || validBootID(key) == "" {
			delete(c.at(bucketMeta, bucketEpochs).values, key)
		}
	}
	for key, value := range c.at(bucketMeta, bucketDamage).eachValue() {
		if _, err := parseDamage(key, value); err != nil {
			delete(c.at(bucketMeta, bucketDamage).values, key)
		}
	}
	if meta := c.at(bucketMeta); meta != nil {
		if _, err := parseFormat(meta.values[keyFormat]); err != nil {
			delete(meta.values, keyFormat)
		}
		if _, err := unseal("", keyLost, meta.values[keyLost]); err != nil {
			delete(meta.values, keyLost)
		}
	}
}
