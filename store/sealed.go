package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bolt-local/bolt-local/store/crc32c"
)

// A document (a network's ranges and migration, a Loss, a Damage) is stored with
// its CRC-32C in front, big endian.
const sumLen = 4

// isDocument tells whether a network has a document under that key.
func isDocument(key string) bool { return key == keyRanges || key == keyMigration || key == keyLost }

// documentSum is the checksum of a document. It covers network, NUL, key and NUL
// before it, so that one in a wrong place is noticed; of the ranges, the document
// alone.
func documentSum(network, key string, doc []byte) uint32 {
	if key == keyRanges {
		return crc32c.Sum(doc)
	}
	return crc32c.Sum([]byte(network+"\x00"+key+"\x00"), doc)
}

// seal puts the checksum before a document. A key in the bucket meta has the
// network "".
func seal(network, key string, doc []byte) []byte {
	value := binary.BigEndian.AppendUint32(make([]byte, 0, sumLen+len(doc)), documentSum(network, key, doc))
	return append(value, doc...)
}

var errSeal = errors.New("wrong checksum")

// unseal returns the document in a value, as a part of it.
func unseal(network, key string, value []byte) ([]byte, error) {
	if len(value) < sumLen || binary.BigEndian.Uint32(value) != documentSum(network, key, value[sumLen:]) {
		return nil, errSeal
	}
	return value[sumLen:], nil
}

// document returns the document stored under key, nil where there is none. It is
// valid until the transaction writes or ends.
func (n *Network) document(key string) ([]byte, error) {
	b := n.tx.bucket([]string{bucketNetworks, n.name})
	if b == nil {
		return nil, nil
	}
	n.tx.pages.descend([]string{bucketNetworks, n.name}, []byte(key))
	value := b.Get([]byte(key))
	if value == nil {
		n.tx.absent(n.name, b)
		return nil, nil
	}
	doc, err := unseal(n.name, key, value)
	if err != nil {
		return nil, n.damaged(fmt.Errorf("the %s: %w", key, err))
	}
	return doc, nil
}

// setDocument stores a document under key, where it differs from the one there.
func (n *Network) setDocument(key string, doc []byte) error {
	value := seal(n.name, key, doc)
	path := []string{bucketNetworks, n.name}
	if b := n.tx.bucket(path); b != nil && bytes.Equal(b.Get([]byte(key)), value) {
		return nil
	}
	return n.tx.put(path, []byte(key), value)
}
