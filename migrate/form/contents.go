package form

import (
	"cmp"
	"encoding/hex"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// Entry is one address and one holder of it, as a form has them. The holder's
// Mark tells this entry from another of the same content. No mark is ever used
// again, not even by a new form in the same place.
type Entry struct {
	Addr   netip.Addr
	Holder record.Holder
}

// Aside is an address that something stands for which names no holder. It is
// no allocation, and nobody is given it.
type Aside struct {
	Addr netip.Addr `json:"ip"`
	// Name is that of what stands for it, "" where that is the address itself.
	Name string `json:"name,omitempty"`
	Mark string `json:"mark"`
	// Fixed: it can never be replaced.
	Fixed bool `json:"fixed,omitempty"`
	// Epoch is the boot in which it was found.
	Epoch uint64 `json:"epoch,omitempty"`
}

// File is the name of what stands for the address.
func (a Aside) File() string { return cmp.Or(a.Name, a.Addr.String()) }

// Contents is all that the old form says of a network.
type Contents struct {
	// Exists: the form is there, and not shut.
	Exists bool
	// Bare: it is there, and nothing but what a lock needs is in it.
	Bare bool
	// Shut is the tombstone of a form that is shut, nil where it is not.
	Shut *Tombstone
	// Place tells whether the whole form was replaced: its entries are then
	// another's, and that one is missing means nothing.
	Place string
	// Entries are sorted by address; none twice.
	Entries []Entry
	// SetAside are sorted by address.
	SetAside []Aside
	// Last are the addresses given last, by the index of the range set.
	Last map[int]netip.Addr
}

// Stamp digests everything but Last: another stamp tells that somebody has
// changed something. It is "" where the form is not there.
func (c Contents) Stamp() string {
	if !c.Exists {
		return ""
	}
	h := fnv.New128a()
	b := append(make([]byte, 0, 4096), c.Place...)
	for _, e := range c.Entries {
		b = appendFields(b, e.Addr, e.Holder.ContainerID, e.Holder.IfName, e.Holder.Mark)
		if len(b) > 3072 {
			h.Write(b)
			b = b[:0]
		}
	}
	for _, a := range c.SetAside {
		b = appendFields(b, a.Addr, a.Mark)
	}
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// appendFields ends each field with a byte that none of them has.
func appendFields(b []byte, addr netip.Addr, fields ...string) []byte {
	b = append(addr.AppendTo(append(b, '\n')), 0)
	for _, f := range fields {
		b = append(append(b, f...), 0)
	}
	return b
}

// At returns the entry of an address.
func (c Contents) At(addr netip.Addr) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(c.Entries, addr, compareAddr)
	if !ok {
		return Entry{}, false
	}
	return c.Entries[i], true
}

// AsideAt returns what stands at an address without naming a holder.
func (c Contents) AsideAt(addr netip.Addr) (Aside, bool) {
	i := slices.IndexFunc(c.SetAside, func(a Aside) bool { return a.Addr == addr })
	if i < 0 {
		return Aside{}, false
	}
	return c.SetAside[i], true
}

// After returns the contents once changes were applied, with their marks: what a
// look would find, which is less than the changes know of a holder.
func (c Contents) After(changes []Change, marks []string) Contents {
	touched := make(map[netip.Addr]bool, len(changes))
	for _, ch := range changes {
		touched[ch.Addr] = true
	}
	old, aside := c.Entries, c.SetAside
	c.Bare = false
	c.Entries = make([]Entry, 0, len(old)+len(changes))
	for _, e := range old {
		if !touched[e.Addr] {
			c.Entries = append(c.Entries, e)
		}
	}
	for i, ch := range changes {
		if ch.Want != nil {
			h := record.Holder{Attachment: ch.Want.Attachment, Origin: record.OriginHostLocal, Mark: marks[i]}
			c.Entries = append(c.Entries, Entry{Addr: ch.Addr, Holder: h})
		}
	}
	c.Entries = Sorted(c.Entries)
	// What is fixed has another name than the file that was written.
	c.SetAside = slices.DeleteFunc(slices.Clone(aside), func(a Aside) bool { return touched[a.Addr] && !a.Fixed })
	return c
}

// Sorted returns the entries of all lists by their addresses. They are big: to
// sort them themselves would move and compare each many times.
func Sorted(lists ...[]Entry) []Entry {
	var order []*Entry
	for _, list := range lists {
		for i := range list {
			order = append(order, &list[i])
		}
	}
	slices.SortFunc(order, func(a, b *Entry) int { return a.Addr.Compare(b.Addr) })
	all := make([]Entry, len(order))
	for i, e := range order {
		all[i] = *e
	}
	return all
}

func compareAddr(e Entry, addr netip.Addr) int { return e.Addr.Compare(addr) }
