package store

import (
	"fmt"
	"os"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// bootIDFile is where the kernel tells one boot from another.
const bootIDFile = "/proc/sys/kernel/random/boot_id"

// readBootID returns "" where the boot id cannot be read: then no epoch begins.
func readBootID() string {
	b, err := os.ReadFile(bootIDFile)
	if err != nil {
		return ""
	}
	return validBootID(strings.TrimSpace(string(b)))
}

// validBootID returns id if it is of the kind that the kernel gives, a UUID,
// and "" for all else.
func validBootID(id string) string {
	if len(id) < 8 || len(id) > 64 {
		return ""
	}
	for _, c := range []byte(id) {
		switch {
		case c == '-', c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		default:
			return ""
		}
	}
	return id
}

// epochs is what meta/epochs says.
type epochs struct {
	newest     uint64 // 0: none yet
	newestBoot string
	seen       bool // the running boot has a number
}

func readEpochs(b *bolt.Bucket, bootID string) (epochs, error) {
	var e epochs
	if b == nil {
		return e, nil
	}
	err := b.ForEach(func(k, v []byte) error {
		n, err := bytesUint64(v)
		if err != nil {
			return fmt.Errorf("epoch of boot %q: %w", k, err)
		}
		if n > e.newest {
			e.newest, e.newestBoot = n, string(k)
		}
		if bootID != "" && string(k) == bootID {
			e.seen = true
		}
		return nil
	})
	return e, err
}

// current is the number that allocations are held against. Under a boot id
// that was never seen everything numbered is of an earlier boot, also for who
// only reads. A known id that is not the newest is a container's view of
// another boot; it and an unreadable one use the newest number.
func (e epochs) current(bootID string) uint64 {
	if bootID != "" && !e.seen {
		return e.newest + 1
	}
	return e.newest
}

// beginEpoch gives a boot id that was never seen its number, and the records
// without a number that of the running boot.
func (t *Tx) beginEpoch(bootID string) error {
	if bootID != "" && !t.epochs.seen {
		t.epochs.newest++
		t.epochs.newestBoot, t.epochs.seen = bootID, true
		if err := t.put([]string{bucketMeta, bucketEpochs}, []byte(bootID), uint64Bytes(t.epochs.newest)); err != nil {
			return err
		}
		if err := t.dropLosses(func(l Loss) bool { return l.Epoch < t.epochs.newest }); err != nil {
			return err // what was missing is not alive any more
		}
	}
	t.epoch = t.epochs.current(bootID)
	if t.epoch == 0 {
		return nil
	}
	return t.numberRecords()
}

// numberRecords gives the records that meta/unnumbered lists the running boot's
// number.
func (t *Tx) numberRecords() error {
	b := t.bucket([]string{bucketMeta, bucketUnnumbered})
	if b == nil {
		return nil
	}
	var keys [][]byte
	if err := b.ForEach(func(k, _ []byte) error {
		keys = append(keys, slices.Clone(k))
		return nil
	}); err != nil {
		return err
	}
	for _, key := range keys {
		if err := t.numberRecord(key); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) numberRecord(key []byte) error {
	network, addr, ok := strings.Cut(string(key), "\x00")
	a, err := keyAddr([]byte(addr))
	if !ok || err != nil {
		return fmt.Errorf("%w: %s: the key %q in meta/unnumbered", ErrDamaged, t.store.Path(), key)
	}
	n := t.Network(network)
	rec, found, err := n.Get(a)
	if err != nil {
		return err
	}
	if !found {
		return t.remove([]string{bucketMeta, bucketUnnumbered}, key)
	}
	rec.Epoch = t.epoch
	return n.Put(rec)
}
