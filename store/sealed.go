package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/bolt-local/bolt-local/store/crc32c"
)

// A document of a network (its ranges, its migration) is stored with its
// CRC-32C in front, big endian.
const sumLen = 4

// documentSum is that of the document alone for the ranges. All others cover
// network, NUL, key and NUL before it, so that one in a wrong place is noticed.
func documentSum(network, key string, doc []byte) uint32 {
	if key == keyRanges {
		return crc32c.Sum(doc)
	}
	return crc32c.Sum([]byte(network+"\x00"+key+"\x00"), doc)
}

// sealed returns the document stored under key, nil where there is none. It is
// valid until the transaction writes or ends.
func (n *Network) sealed(key string) ([]byte, error) {
	b := n.tx.bucket([]string{bucketNetworks, n.name})
	if b == nil {
		return nil, nil
	}
	value := b.Get([]byte(key))
	if value == nil {
		return nil, nil
	}
	if len(value) < sumLen || binary.BigEndian.Uint32(value) != documentSum(n.name, key, value[sumLen:]) {
		return nil, n.damaged(fmt.Errorf("the %s: wrong checksum", key))
	}
	return value[sumLen:], nil
}

// seal stores a document under key, where it differs from the one there.
func (n *Network) seal(key string, doc []byte) error {
	value := binary.BigEndian.AppendUint32(nil, documentSum(n.name, key, doc))
	value = append(value, doc...)
	path := []string{bucketNetworks, n.name}
	if b := n.tx.bucket(path); b != nil && bytes.Equal(b.Get([]byte(key)), value) {
		return nil
	}
	return n.tx.put(path, []byte(key), value)
}
