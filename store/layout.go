package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math/bits"
	"net/netip"

	"github.com/bolt-local/bolt-local/store/record"
)

// Names in the data directory.
const (
	CheckpointFile = "checkpoint.db"
	LockFile       = "lock"
	JournalFile    = "journal"
	DeferredDir    = "deferred"
	UndoFile       = "undo"

	suspectFile       = "suspect"
	newCheckpointFile = ".checkpoint.db.new"
	newJournalFile    = ".journal.new"
)

// Names in the bucket tree. They are on disk: pinned in layout_test.go.
const (
	bucketMeta       = "meta"
	bucketEpochs     = "epochs"
	bucketStamp      = "stamp"
	bucketUnnumbered = "unnumbered"
	keyFormat        = "format"
	bucketDamage     = "damage"
	keyCommit        = "commit"
	keyStampSchema1  = "1"

	bucketNetworks    = "networks"
	bucketAllocations = "allocations"
	bucketAttachments = "attachments"
	bucketCursors     = "cursors"
	bucketDeferred    = "deferred"
	keyRanges         = "ranges"
	keyMigration      = "migration"
	keyLost           = "lost"     // in meta too
	keyAccepted       = "accepted" // in meta
)

// What stands at one place. No version has another name there that is one bit away
// from one of these: that is damage.
var (
	namesAtTop     = []string{bucketMeta, bucketNetworks}
	namesInMeta    = []string{bucketEpochs, bucketStamp, bucketUnnumbered, bucketDamage, keyFormat, keyCommit, keyLost, keyAccepted}
	namesInNetwork = []string{bucketAllocations, bucketAttachments, bucketCursors, bucketDeferred, keyRanges, keyMigration, keyLost}
)

// besideOne returns that of ours from which name is one bit away, "" for none.
func besideOne[S []byte | string](name S, ours []string) string {
	for _, is := range ours {
		if len(is) == len(name) && oneBit(name, is) {
			return is
		}
	}
	return ""
}

func oneBit[S []byte | string](a S, b string) bool {
	n := 0
	for i := range len(a) {
		if n += bits.OnesCount8(a[i] ^ b[i]); n > 1 {
			return false
		}
	}
	return n == 1
}

const addrLen = 16

func addrKey(a netip.Addr) []byte {
	b := a.As16()
	return b[:]
}

func keyAddr(key []byte) (netip.Addr, error) {
	if len(key) != addrLen {
		return netip.Addr{}, fmt.Errorf("an address key has a length of %d, not %d", len(key), addrLen)
	}
	return netip.AddrFrom16([addrLen]byte(key)).Unmap(), nil
}

// attachmentPrefix is what the keys of one attachment begin with. Neither a
// container id nor an ifname has a NUL byte.
func attachmentPrefix(att record.Attachment) []byte {
	key := make([]byte, 0, len(att.ContainerID)+len(att.IfName)+2+addrLen)
	key = append(key, att.ContainerID...)
	key = append(key, 0)
	key = append(key, att.IfName...)
	return append(key, 0)
}

func attachmentKey(att record.Attachment, a netip.Addr) []byte {
	return append(attachmentPrefix(att), addrKey(a)...)
}

func parseAttachmentKey(key []byte) (record.Attachment, netip.Addr, error) {
	names := key[:max(0, len(key)-addrLen)]
	id, ifname, ok := bytes.Cut(names, []byte{0})
	if !ok || len(ifname) == 0 || ifname[len(ifname)-1] != 0 {
		return record.Attachment{}, netip.Addr{}, fmt.Errorf("the attachment key %q is none", key)
	}
	a, err := keyAddr(key[len(names):])
	return record.Attachment{ContainerID: string(id), IfName: string(ifname[:len(ifname)-1])}, a, err
}

// maxCursorKey bounds a range set's own text as the key of its cursor; a longer
// one is replaced by its digest. Two sets with one digest would share a hint.
const maxCursorKey = 255

func cursorKey(set record.RangeSet) []byte {
	text := set.String()
	if len(text) <= maxCursorKey {
		return []byte(text)
	}
	sum := fnv.New128a()
	sum.Write([]byte(text))
	return []byte("fnv128a:" + hex.EncodeToString(sum.Sum(nil)))
}

func unnumberedKey(network string, a netip.Addr) []byte {
	return append(append([]byte(network), 0), addrKey(a)...)
}

func uint64Bytes(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func bytesUint64(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("%w: a number has %d bytes", ErrDamaged, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}
