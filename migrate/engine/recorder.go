package engine

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// working is what a verb works on: the new form, or a copy of the old one.
type working interface {
	ipam.Tx
	Try(fn func() error) error
}

// asides are the addresses that nobody is given.
type asides map[netip.Addr]form.Aside

// masked hides the addresses that are set aside from whoever looks for a free
// one, and prefers the old form's cursors where it is read.
type masked struct {
	ipam.Reader
	aside asides
	// last are the old form's cursors, of the range sets in their order.
	last map[int]netip.Addr
	sets []record.RangeSet
}

// FirstFree implements [ipam.Reader].
func (m masked) FirstFree(lo, hi netip.Addr, stale func(record.Allocation) bool) (netip.Addr, bool, error) {
	for {
		addr, ok, err := m.Reader.FirstFree(lo, hi, stale)
		if err != nil || !ok {
			return addr, ok, err
		}
		if _, blocked := m.aside[addr]; !blocked {
			return addr, true, nil
		}
		if addr == hi {
			return netip.Addr{}, false, nil
		}
		lo = addr.Next()
	}
}

// Cursor implements [ipam.Reader]. The old form numbers the range sets, and so
// may mean another one; then its address lies outside.
func (m masked) Cursor(set record.RangeSet) netip.Addr {
	for i, s := range m.sets {
		if addr, ok := m.last[i]; ok && s.String() == set.String() {
			if _, within := set.RangeOf(addr); within {
				return addr
			}
		}
	}
	return m.Reader.Cursor(set)
}

// recorder is what a verb writes to. It remembers which addresses it touched.
type recorder struct {
	masked
	to      working
	stale   func(record.Allocation) bool
	brings  bool // see Kind.brings
	oldPath string
	stored  ipam.Tx // where the ranges are kept in any phase
	touched map[netip.Addr]bool
	order   []netip.Addr
	given   map[string]netip.Addr // cursors that were set
	freed   map[netip.Addr]bool   // what was of this boot; nil where the old form is shut
}

func (r *recorder) touch(addr netip.Addr) {
	if !r.touched[addr] {
		r.touched[addr] = true
		r.order = append(r.order, addr)
	}
}

// HeldBy implements [ipam.Reader]. Whoever brings addresses cannot have again what
// is of an earlier boot and blocked in this one.
func (r *recorder) HeldBy(att record.Attachment) ([]record.Allocation, error) {
	held, err := r.masked.HeldBy(att)
	if !r.brings {
		return held, err
	}
	return slices.DeleteFunc(held, func(a record.Allocation) bool {
		_, blocked := r.aside[a.Addr]
		return blocked && r.stale(a)
	}), err
}

// Put implements [ipam.Tx].
func (r *recorder) Put(a record.Allocation) error {
	if aside, blocked := r.aside[a.Addr]; blocked {
		old, held, err := r.to.Get(a.Addr)
		if err != nil {
			return err
		}
		if held && !r.stale(old) { // by a holder that was there before what blocks
			return r.to.Put(a)
		}
		return ipam.Errorf(ipam.CodeRequestedTaken, "%w: %s", ErrAside, describeAside(aside, r.oldPath))
	}
	r.touch(a.Addr)
	return r.to.Put(a)
}

// Delete implements [ipam.Tx].
func (r *recorder) Delete(addr netip.Addr) error {
	r.touch(addr)
	if r.freed != nil {
		a, held, err := r.to.Get(addr)
		if err != nil {
			return err
		}
		r.freed[addr] = r.freed[addr] || held && !r.stale(a)
	}
	return r.to.Delete(addr)
}

// SetCursor implements [ipam.Tx].
func (r *recorder) SetCursor(set record.RangeSet, addr netip.Addr) error {
	r.given[set.String()] = addr
	return r.to.SetCursor(set, addr)
}

// SetRanges implements [ipam.Tx].
func (r *recorder) SetRanges(sets []record.RangeSet) error { return r.stored.SetRanges(sets) }

// lastGiven are the cursors by the index of the range set, as the old form
// numbers them.
func (r *recorder) lastGiven() map[int]netip.Addr {
	last := map[int]netip.Addr{}
	for i, set := range r.sets {
		if addr, ok := r.given[set.String()]; ok {
			last[i] = addr
		}
	}
	return last
}

func describeAside(a form.Aside, path string) string {
	if a.Fixed {
		return fmt.Sprintf("%s stands for %s and is no reservation: the address is not given out as long as it is there", filepath.Join(path, a.File()), a.Addr)
	}
	return fmt.Sprintf("the file of %s in %s names no holder, as a killed host-local leaves it: the address is not given out until the next boot, or until the file is removed", a.Addr, path)
}
