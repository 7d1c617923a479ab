package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/record"
)

// Network is one network within a transaction. A network that is not stored
// reads as empty; the first write makes it.
type Network struct {
	tx   *Tx
	name string
}

// Name is the network's name.
func (n *Network) Name() string { return n.name }

// Epoch is the number of the running boot. An allocation with a lower one,
// other than 0, was made before the last reboot.
func (n *Network) Epoch() uint64 { return n.tx.epoch }

// Exists tells whether the network is stored.
func (n *Network) Exists() bool { return n.tx.bucket([]string{bucketNetworks, n.name}) != nil }

func (n *Network) path(bucket string) []string { return []string{bucketNetworks, n.name, bucket} }

// index returns the bucket of one of the indexes, nil where the network has none. It
// has both or neither. A file that was not looked at in whole may have the other one
// alone, by a flipped bit in a name, or the network under another.
func (n *Network) index(name string) (*bolt.Bucket, error) {
	b := n.tx.bucket(n.path(name))
	if b != nil || n.tx.pages == nil {
		return b, nil
	}
	if !n.Exists() {
		n.tx.pages.scan() // the checksums of its records tell
		return nil, nil
	}
	other := bucketAllocations
	if name == bucketAllocations {
		other = bucketAttachments
	}
	o := n.tx.bucket(n.path(other))
	if o == nil {
		return nil, nil
	}
	n.tx.pages.descend(n.path(other), nil)
	if k, _ := o.Cursor().First(); k != nil {
		return nil, n.damaged(fmt.Errorf("it has %s and no %s", other, name))
	}
	return nil, nil
}

// Get returns the allocation of addr. Here and below, an error wraps
// ErrDamaged where the stored bytes are not what was written.
func (n *Network) Get(addr netip.Addr) (record.Allocation, bool, error) {
	b, err := n.index(bucketAllocations)
	if b == nil {
		return record.Allocation{}, false, err
	}
	n.tx.pages.descend(n.path(bucketAllocations), addrKey(addr))
	value := b.Get(addrKey(addr))
	if value == nil {
		return record.Allocation{}, false, nil
	}
	a, err := n.decode(addr, value)
	return a, err == nil, err
}

// HeldBy returns the allocations of an attachment in the order of addresses.
func (n *Network) HeldBy(att record.Attachment) ([]record.Allocation, error) {
	b, err := n.index(bucketAttachments)
	if b == nil {
		return nil, err
	}
	var held []record.Allocation
	prefix := attachmentPrefix(att)
	n.tx.pages.descend(n.path(bucketAttachments), prefix)
	c := b.Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		addr, err := keyAddr(k[len(prefix):])
		if err != nil {
			return nil, n.damaged(err)
		}
		a, ok, err := n.Get(addr)
		if err != nil {
			return nil, err
		}
		if !ok || !a.HeldBy(att) {
			return nil, n.damaged(fmt.Errorf("%s is listed for container %s, ifname %s, but not recorded so", addr, att.ContainerID, att.IfName))
		}
		held = append(held, a)
	}
	return held, nil
}

// Each calls fn for every allocation in the order of addresses until fn fails.
// fn may not write.
func (n *Network) Each(fn func(record.Allocation) error) error {
	return n.EachReadable(func(a record.Allocation, err error) error {
		if err != nil {
			return err
		}
		return fn(a)
	})
}

// EachReadable is Each for whoever wants to see what can be seen: for a record
// that cannot be read fn gets its address, where the key has one, and why.
func (n *Network) EachReadable(fn func(record.Allocation, error) error) error {
	b, err := n.index(bucketAllocations)
	if b == nil {
		return err
	}
	n.tx.pages.scan()
	return b.ForEach(func(k, v []byte) error {
		n.tx.beat()
		addr, err := keyAddr(k)
		if err != nil {
			return fn(record.Allocation{}, n.damaged(err))
		}
		a, err := n.decode(addr, v)
		if err != nil {
			a.Addr = addr
		}
		return fn(a, err)
	})
}

// FirstFree returns the lowest address from lo to hi, both inclusive and of
// one family, that is not allocated, or whose allocation is of an earlier
// epoch and free according to stale. It reports false where there is none.
func (n *Network) FirstFree(lo, hi netip.Addr, stale func(record.Allocation) bool) (netip.Addr, bool, error) {
	b, err := n.index(bucketAllocations)
	if b == nil {
		return lo, err == nil, err
	}
	want, last := lo.As16(), hi.As16()
	path := n.path(bucketAllocations)
	n.tx.pages.descend(path, want[:])
	c := b.Cursor()
	steps := 0
	for k, v := c.Seek(want[:]); bytes.Equal(k, want[:]); k, v = c.Next() {
		if steps++; steps >= longWalk {
			n.tx.pages.scan()
			n.tx.beat()
		}
		// The number in front of the value is enough, for most of them.
		if epoch := record.EpochOf(v); epoch != 0 && epoch < n.tx.epoch {
			addr := netip.AddrFrom16(want).Unmap()
			a, err := n.decode(addr, v)
			if err != nil {
				return netip.Addr{}, false, err
			}
			if stale(a) {
				return addr, true, nil
			}
		}
		if want == last {
			return netip.Addr{}, false, nil
		}
		increment(&want)
		n.tx.pages.descend(path, want[:]) // where Next goes to
	}
	return netip.AddrFrom16(want).Unmap(), true, nil
}

// longWalk is from how many addresses on it costs less to look at all pages than
// at each step of a walk.
const longWalk = 256

func increment(b *[addrLen]byte) {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i]++; b[i] != 0 {
			return
		}
	}
}

// Cursor returns the last address given from set, the zero Addr at first.
func (n *Network) Cursor(set record.RangeSet) netip.Addr {
	b := n.tx.bucket(n.path(bucketCursors))
	if b == nil {
		return netip.Addr{}
	}
	n.tx.pages.descend(n.path(bucketCursors), cursorKey(set))
	addr, err := keyAddr(b.Get(cursorKey(set)))
	if err != nil {
		return netip.Addr{} // a hint; the walk begins at the start
	}
	return addr
}

// Ranges returns the range sets of the network's last ADD.
func (n *Network) Ranges() ([]record.RangeSet, error) {
	doc, err := n.document(keyRanges)
	if doc == nil || err != nil {
		return nil, err
	}
	var sets []record.RangeSet
	if err := json.Unmarshal(doc, &sets); err != nil {
		return nil, n.damaged(fmt.Errorf("the ranges: %w", err))
	}
	return sets, nil
}

func (n *Network) decode(addr netip.Addr, value []byte) (record.Allocation, error) {
	a, err := record.Decode(n.name, addr, value)
	if err != nil {
		return record.Allocation{}, n.damaged(err)
	}
	return a, nil
}

func (n *Network) damaged(err error) error {
	return fmt.Errorf("%w: %s, network %s: %w", ErrDamaged, n.tx.store.Path(), n.name, err)
}
