package engine

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

// memory is a network in memory: what a call would find if it could write, and
// the network itself where the old form alone is written. It shares cursors and
// ranges with what lies under it.
type memory struct {
	ipam.Reader // for the epoch, the cursors and the ranges
	allocations map[netip.Addr]record.Allocation
	cursors     map[string]netip.Addr
}

var _ working = (*memory)(nil)

// load copies the allocations of a network.
func load(r ipam.Reader) (map[netip.Addr]record.Allocation, error) {
	all := map[netip.Addr]record.Allocation{}
	err := r.Each(func(a record.Allocation) error {
		all[a.Addr] = a
		return nil
	})
	return all, err
}

func newMemory(under ipam.Reader, all map[netip.Addr]record.Allocation) *memory {
	return &memory{Reader: under, allocations: all, cursors: map[string]netip.Addr{}}
}

func (m *memory) Get(addr netip.Addr) (record.Allocation, bool, error) {
	a, ok := m.allocations[addr]
	return a, ok, nil
}

func (m *memory) sorted() []netip.Addr {
	return slices.SortedFunc(maps.Keys(m.allocations), netip.Addr.Compare)
}

func (m *memory) HeldBy(att record.Attachment) ([]record.Allocation, error) {
	var held []record.Allocation
	for _, addr := range m.sorted() {
		if a := m.allocations[addr]; a.HeldBy(att) {
			held = append(held, a)
		}
	}
	return held, nil
}

func (m *memory) Each(fn func(record.Allocation) error) error {
	for _, addr := range m.sorted() {
		if err := fn(m.allocations[addr]); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) FirstFree(lo, hi netip.Addr, stale func(record.Allocation) bool) (netip.Addr, bool, error) {
	for addr := lo; addr.IsValid() && addr.Compare(hi) <= 0; addr = addr.Next() {
		if a, taken := m.allocations[addr]; !taken || (a.Epoch != 0 && a.Epoch < m.Epoch() && stale(a)) {
			return addr, true, nil
		}
	}
	return netip.Addr{}, false, nil
}

func (m *memory) Put(a record.Allocation) error {
	m.allocations[a.Addr] = a
	return nil
}

func (m *memory) Delete(addr netip.Addr) error {
	delete(m.allocations, addr)
	return nil
}

func (m *memory) Cursor(set record.RangeSet) netip.Addr {
	if addr, ok := m.cursors[set.String()]; ok {
		return addr
	}
	return m.Reader.Cursor(set)
}

func (m *memory) SetCursor(set record.RangeSet, addr netip.Addr) error {
	m.cursors[set.String()] = addr
	return nil
}

// SetRanges does nothing: a recorder gives them to the network that is stored.
func (m *memory) SetRanges([]record.RangeSet) error { return nil }

// Try implements [form.New].
func (m *memory) Try(fn func() error) error {
	allocations, cursors := maps.Clone(m.allocations), maps.Clone(m.cursors)
	err := fn()
	if err != nil {
		m.allocations, m.cursors = allocations, cursors
	}
	return err
}

// unstored is a network that is stored nowhere.
type unstored struct{ *memory }

func newUnstored() unstored {
	return unstored{newMemory(nothing{}, map[netip.Addr]record.Allocation{})}
}

func (unstored) Migration() ([]byte, error) { return nil, nil }
func (unstored) SetMigration([]byte) error  { return nil }

// nothing is the reader of a network that has nothing. It embeds no Reader, so
// that one with more methods does not compile until they are here.
type nothing struct{}

var _ ipam.Reader = nothing{}

func (nothing) Epoch() uint64 { return 0 }
func (nothing) Get(netip.Addr) (record.Allocation, bool, error) {
	return record.Allocation{}, false, nil
}
func (nothing) HeldBy(record.Attachment) ([]record.Allocation, error) { return nil, nil }
func (nothing) Each(func(record.Allocation) error) error              { return nil }
func (nothing) FirstFree(lo, _ netip.Addr, _ func(record.Allocation) bool) (netip.Addr, bool, error) {
	return lo, true, nil
}
func (nothing) Cursor(record.RangeSet) netip.Addr  { return netip.Addr{} }
func (nothing) Ranges() ([]record.RangeSet, error) { return nil, nil }
func (nothing) Whole() error                       { return nil }
