package engine

import (
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// merge holds what is recorded against what the old form says, and tells what
// has to change so that both say the same. It changes neither.
type merge struct {
	epoch uint64 // for what was made by another: it belongs to this boot
	stale func(record.Allocation) bool
	// complete fills in what the old form does not know of a new holder.
	complete func(netip.Addr, *record.Holder)
	// replaced: the whole old form was, so that what it lacks means nothing.
	replaced bool

	put    []record.Allocation
	remove []netip.Addr
	// write are addresses that the old form must be given again.
	write []netip.Addr

	imported, freed, restored int
	shared                    []netip.Addr // turned out to be held twice
}

func (m *merge) run(all map[netip.Addr]record.Allocation, c form.Contents) {
	seen := make(map[netip.Addr]bool, len(c.Entries))
	for _, e := range c.Entries {
		seen[e.Addr] = true
		if a, known := all[e.Addr]; known {
			m.both(a, e)
		} else {
			m.fresh(record.Allocation{Addr: e.Addr}, e)
		}
	}
	for addr, a := range all {
		if !seen[addr] {
			m.missing(a)
		}
	}
	slices.SortFunc(m.put, func(a, b record.Allocation) int { return a.Addr.Compare(b.Addr) })
	slices.SortFunc(m.remove, netip.Addr.Compare)
	slices.SortFunc(m.write, netip.Addr.Compare)
}

// after is run, and returns the allocations as they are then. It changes all, which
// may be nil.
func (m *merge) after(all map[netip.Addr]record.Allocation, c form.Contents) map[netip.Addr]record.Allocation {
	m.run(all, c)
	if all == nil {
		all = make(map[netip.Addr]record.Allocation, len(m.put))
	}
	for _, addr := range m.remove {
		delete(all, addr)
	}
	for _, a := range m.put {
		all[a.Addr] = a
	}
	return all
}

// both: the address is recorded, and the old form has an entry.
func (m *merge) both(a record.Allocation, e form.Entry) {
	for _, h := range a.Holders {
		if h.Mark == e.Holder.Mark && h.MayBe(e.Holder.Attachment) {
			return // it is the entry that we know
		}
	}
	if m.stale(a) {
		m.fresh(record.Allocation{Addr: a.Addr}, e)
		return
	}
	m.fresh(a.Without(func(h record.Holder) bool {
		return h.MayBe(e.Holder.Attachment) || m.gone(h)
	}), e)
}

// gone: the entry of a holder has been replaced or removed by another.
func (m *merge) gone(h record.Holder) bool { return !m.replaced && h.Mark != "" }

// fresh records the holder of an entry that another has made, beside those of
// a.
func (m *merge) fresh(a record.Allocation, e form.Entry) {
	h := e.Holder
	m.complete(e.Addr, &h)
	if h.IfName == "" {
		h.Unknown = []string{record.UnknownIfName}
	}
	a.Epoch = m.epoch
	a.Holders = append([]record.Holder{h}, a.Holders...)
	for i := range a.Holders[1:] {
		a.Holders[i+1].Mark = "" // the entry names the new one
	}
	if len(a.Holders) > 1 {
		m.shared = append(m.shared, a.Addr)
	}
	m.put = append(m.put, a)
	m.imported++
}

// missing: the address is recorded, and the old form has no entry.
func (m *merge) missing(a record.Allocation) {
	if m.stale(a) { // free already; kept for the same attachment
		if hasMark(a) {
			m.put = append(m.put, unmarked(a))
		}
		return
	}
	rest := a.Without(m.gone)
	if len(rest.Holders) == 0 {
		m.remove = append(m.remove, a.Addr)
		m.freed++
		return
	}
	m.put = append(m.put, unmarked(rest))
	m.write = append(m.write, a.Addr)
	m.restored++
}

func hasMark(a record.Allocation) bool {
	return slices.ContainsFunc(a.Holders, func(h record.Holder) bool { return h.Mark != "" })
}

// unmarked is a without the marks of its holders.
func unmarked(a record.Allocation) record.Allocation {
	a.Holders = slices.Clone(a.Holders)
	for i := range a.Holders {
		a.Holders[i].Mark = ""
	}
	return a
}
