package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/crc32c"
	"github.com/bolt-local/bolt-local/store/record"
)

// meta/commit is <random, 32 hex digits>-<checksum, 8 hex digits>. The checksum is
// of all else in meta but the stamps, which have to be the transaction's anyway:
// one flipped bit in a boot's number would make the records of all boots free. A
// file that was last written by a version without the checksum has none, nor the
// hyphen.
const (
	commitIDLen  = 32
	commitLen    = commitIDLen + 1 + 8
	commitFormat = "%s-%08x"
)

var errMetaSum = errors.New("meta has a wrong checksum")

// metaSum gets all keys of the bucket meta in their order.
type metaSum struct {
	crc    uint32 // of the names on the way to each key, the key and the value, each behind its length
	length [4]byte
	commit []byte
}

// add takes a key and the buckets that it is in, meta first.
func (s *metaSum) add(path [][]byte, key, value []byte) {
	switch {
	case len(path) == 1 && string(key) == keyCommit:
		s.commit = value
		return
	case len(path) > 1 && string(path[1]) == bucketStamp:
		return
	}
	for _, name := range path[1:] {
		s.part(name)
	}
	s.part(key)
	s.part(value)
}

func (s *metaSum) part(b []byte) {
	binary.BigEndian.PutUint32(s.length[:], uint32(len(b)))
	s.crc = crc32c.Update(crc32c.Update(s.crc, s.length[:]), b)
}

// check holds the keys against what the commit says of them.
func (s *metaSum) check() error {
	if len(s.commit) == commitLen && string(s.commit) != fmt.Sprintf(commitFormat, s.commit[:commitIDLen], s.crc) {
		return errMetaSum
	}
	return nil
}

// bucket adds the keys of a bucket, and of those in it.
func (s *metaSum) bucket(path [][]byte, b *bolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return s.bucket(append(path[:len(path):len(path)], k), b.Bucket(k))
		}
		s.add(path, k, v)
		return nil
	})
}

// content is bucket of a checkpoint in memory.
func (s *metaSum) content(path [][]byte, c *content) {
	if c == nil {
		return
	}
	for _, name := range c.names() {
		if value, is := c.values[name]; is {
			s.add(path, []byte(name), value)
		} else {
			s.content(append(path[:len(path):len(path)], []byte(name)), c.buckets[name])
		}
	}
}

// misnumbered tells that the numbers of boots are not to be believed, as meta is not
// as it was written.
func (c *content) misnumbered() bool {
	var s metaSum
	s.content([][]byte{[]byte(bucketMeta)}, c.at(bucketMeta))
	return s.check() != nil
}

// renumber gives a boot that has written to c the highest number of a record, each of
// which has a checksum of its own, and forgets those of all others.
func (c *content) renumber(bootID string) {
	newest := uint64(1)
	for name, network := range c.at(bucketNetworks).each() {
		for key, value := range network.at(bucketAllocations).eachValue() {
			if addr, err := keyAddr([]byte(key)); err == nil && record.Sound(name, addr, value) {
				newest = max(newest, record.EpochOf(value))
			}
		}
	}
	delete(c.make(bucketMeta).buckets, bucketEpochs)
	delete(c.at(bucketMeta).values, keyAccepted)
	c.put([]string{bucketMeta, bucketEpochs}, bootID, uint64Bytes(newest))
}

// newCommit is what meta/commit says of a transaction that changes nothing in meta
// any more but that and the stamp.
func newCommit(meta *bolt.Bucket) (string, error) {
	id, err := newID()
	if err != nil {
		return "", err
	}
	var s metaSum
	if meta != nil {
		err = s.bucket([][]byte{[]byte(bucketMeta)}, meta)
	}
	return fmt.Sprintf(commitFormat, id, s.crc), err
}
