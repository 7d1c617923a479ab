package ipam

import (
	"errors"
	"net/netip"
	"time"

	"github.com/bolt-local/bolt-local/store/record"
)

// ReadTimeout bounds the wait for the lock of whoever only reads for people or
// for a node's health: STATUS, `dump`, `status`.
const ReadTimeout = 2 * time.Second

// ErrNoSpace is under the error of a State whose disk is full.
var ErrNoSpace = errors.New("the disk is full")

// Verb is a CNI verb, or an operator's command, that may write.
type Verb string

// The writing verbs.
const (
	VerbAdd Verb = "ADD"
	VerbDel Verb = "DEL"
	VerbGC  Verb = "GC"

	// What an operator does by hand begins no epoch.
	VerbOperatorGC Verb = "gc"
	VerbRelease    Verb = "release"
)

// State is what the verbs see of the stored allocations. A network that is not
// stored looks like an empty one.
type State interface {
	// View calls fn once with a consistent view that fn must not keep.
	View(network string, fn func(Reader) error) error

	// Update calls fn in one transaction, committed and durable when Update
	// returns nil, and without effect on the network's allocations when fn
	// fails. Where fn fails with [ErrExhausted] the range sets of the ADD are kept
	// all the same. Only ADD creates what is missing: with another verb, nothing
	// stored and nothing to take over, fn is not called. Where the state turns out
	// to be damaged and can be healed, fn is called again; what it did before is
	// gone.
	Update(verb Verb, network string, fn func(Tx) error) error

	// Defer leaves a DEL that Update could not write for the next call that can.
	Defer(network string, d Deletion) error

	// Ready is View for whoever wants to know whether an ADD could be served: it
	// also fails where none could, whatever it asks for.
	Ready(network string, fn func(Reader) error) error

	// Ascribed returns the addresses that a witness beside the state, libcni's
	// cache of results, ascribes to an attachment.
	Ascribed(network string, att record.Attachment) []netip.Addr
}

// Reader reads one network.
type Reader interface {
	// Epoch is the number of this boot. An allocation with a lower one, other
	// than 0, was made before the last reboot.
	Epoch() uint64

	// Get returns the allocation of addr, if there is one.
	Get(addr netip.Addr) (record.Allocation, bool, error)

	// HeldBy returns the allocations of an attachment in the order of addresses.
	HeldBy(att record.Attachment) ([]record.Allocation, error)

	// Each calls fn for every allocation in the order of addresses until fn
	// fails. fn may not write.
	Each(fn func(record.Allocation) error) error

	// FirstFree returns the lowest address from lo to hi inclusive that is not
	// allocated, or whose allocation is of an earlier epoch and free according
	// to stale. It reports false where there is none.
	FirstFree(lo, hi netip.Addr, stale func(record.Allocation) bool) (netip.Addr, bool, error)

	// Cursor returns the last address given from a range set, the zero Addr at
	// first.
	Cursor(set record.RangeSet) netip.Addr

	// Ranges returns the range sets of the network's last ADD that was granted
	// its addresses, or that failed as one of them is exhausted.
	Ranges() ([]record.RangeSet, error)

	// Whole is why allocations of this boot may be missing, nil where none are.
	Whole() error
}

// Tx reads and writes one network.
type Tx interface {
	Reader

	// Put writes an allocation over whatever its address had before.
	Put(record.Allocation) error

	// Delete frees addr.
	Delete(addr netip.Addr) error

	// SetCursor remembers the last address given from a range set.
	SetCursor(set record.RangeSet, addr netip.Addr) error

	// SetRanges remembers the range sets of an ADD.
	SetRanges([]record.RangeSet) error
}
