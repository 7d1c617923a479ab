package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// Witness knows of attachments what the old form does not.
type Witness interface {
	// Complete fills in what h lacks, where it is certain.
	Complete(addr netip.Addr, h *record.Holder)
	// Living returns the attachments that are known to live, and their
	// addresses.
	Living() []Living
}

// Living is an attachment with its addresses.
type Living struct {
	Holder record.Holder
	Addrs  []netip.Addr
}

// merge brings both forms to the same state, where another has changed the old
// one or a call was cut.
func (u *update) merge() error {
	if u.c.Exists {
		for _, a := range u.p.noteAsides(u.c, u.n.Epoch()) {
			u.warnf("%s", describeAside(a, u.old.Path()))
		}
	}
	if !u.p.Phase.mirrored() || !u.c.Exists || u.c.Stamp() == u.p.Stamp {
		return nil
	}
	return u.importOld()
}

// importOld is merge where the old form was changed.
func (u *update) importOld() error {
	// Whoever has changed it may have been killed before that was durable.
	if err := u.old.Sync(); err != nil {
		u.warnf("%v", err)
		u.unsure = true
	}
	all, err := load(u.n)
	if err != nil {
		return err
	}
	m := u.newMerge()
	m.run(all, u.c)
	failpoint.Hit("engine.merged")
	for _, addr := range m.remove {
		if err := u.n.Delete(addr); err != nil {
			return err
		}
	}
	for _, a := range m.put {
		if err := u.n.Put(a); err != nil {
			return err
		}
	}
	if err := u.restore(m); err != nil {
		return err
	}
	u.tell(m)
	if !u.unsure {
		u.p.stamp(u.c)
	}
	return nil
}

func (u *update) newMerge() *merge {
	return &merge{
		epoch:    u.epoch(),
		stale:    u.stale,
		complete: u.Witness.Complete,
		replaced: u.p.Place != u.c.Place,
	}
}

// restore gives the old form what it has lost. For a call that only frees it can
// wait for the next one: the disk may be full.
func (u *update) restore(m *merge) error {
	var changes []form.Change
	var allocs []record.Allocation
	for _, addr := range m.write {
		a, _, err := u.n.Get(addr)
		if err != nil {
			return err
		}
		if _, blocked := u.c.AsideAt(addr); blocked {
			u.warnf("%s: %s stands in the way of the file of container %s", u.old.Path(), addr, a.Holders[0].ContainerID)
			continue
		}
		changes = append(changes, form.Change{Addr: addr, Want: &a.Holders[0]})
		allocs = append(allocs, a)
	}
	if len(changes) == 0 {
		return nil
	}
	marks, err := u.apply(changes)
	if err != nil && !u.call.Kind.brings() && !u.call.Kind.byHand() {
		u.warnf("%v", err)
		u.unsure, m.restored = true, 0
		return nil
	}
	if err != nil {
		return err
	}
	for i, a := range allocs {
		a.Holders[0].Mark = marks[i]
		if err := u.n.Put(a); err != nil {
			return err
		}
	}
	return nil
}

func (u *update) apply(changes []form.Change) ([]string, error) {
	marks, err := u.old.Apply(changes)
	if errors.Is(err, form.ErrTaken) {
		return nil, ipam.Errorf(ipam.CodeTryAgain, "%w", err)
	}
	if err != nil {
		return nil, ipam.Errorf(ipam.CodeIO, "%w", err)
	}
	u.c = u.c.After(changes, marks)
	return marks, nil
}

// tell says what a merge has done.
func (u *update) tell(m *merge) {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{m.imported, "took over %s"}, {m.freed, "freed %s no longer there"}, {m.restored, "wrote %s again"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf(part.what, counted(part.n)))
		}
	}
	switch {
	case len(parts) == 0:
	case u.born || u.left:
		u.warnf("took over %s of %s", counted(m.imported), u.old.Path())
	case u.p.Stamp == "" && u.was.written(): // see Changed
		u.warnf("%s and the checkpoint, which was repaired, were brought together: %s", u.old.Path(), strings.Join(parts, ", "))
	default:
		u.warnf("%s was changed by another: %s", u.old.Path(), strings.Join(parts, ", "))
	}
	for _, addr := range m.shared {
		u.warnf("%s is held by two attachments at once: delete the pod of one", addr)
	}
}

// forget takes allocations of earlier boots out of the old form, whose users
// would hold them for ever. The new form keeps them for the same attachment.
func (u *update) forget() error {
	if !u.p.Phase.mirrored() || (!u.call.Runtime && !u.call.Kind.byHand()) || u.p.Epoch == u.n.Epoch() {
		return nil
	}
	all, err := load(u.n)
	if err != nil {
		return err
	}
	var changes []form.Change
	var allocs []record.Allocation
	for _, e := range u.c.Entries {
		if a, ok := all[e.Addr]; ok && u.stale(a) {
			changes = append(changes, form.Change{Addr: e.Addr, Had: &e})
			allocs = append(allocs, unmarked(a))
		}
	}
	if len(changes) > 0 {
		if _, err := u.apply(changes); err != nil {
			u.warnf("what earlier boots have left stays: %v", err)
			return u.remark(allocs)
		}
	}
	for _, a := range allocs {
		if err := u.n.Put(a); err != nil {
			return err
		}
	}
	u.p.Epoch = u.n.Epoch()
	return nil
}

// remark gives allocations of earlier boots, whose entries were taken away and
// put back, their new marks: else they would pass for another's of this boot.
func (u *update) remark(allocs []record.Allocation) error {
	u.unsure = true
	if err := u.look(); err != nil {
		return err
	}
	for _, a := range allocs {
		e, there := u.c.At(a.Addr)
		if !there || !names(a, e) {
			continue
		}
		a, _ = mark(a, e.Holder)
		if err := u.n.Put(a); err != nil {
			return err
		}
	}
	return nil
}

// adopt records the attachments that are known to live in ranges that no ADD
// has brought before: whoever gave them their addresses. legacy does as host-local
// does, so that it is asked once more when a network leaves that.
func (u *update) adopt() error {
	if u.call.Kind != KindAdd || u.p.Phase == Legacy {
		return nil
	}
	stored, err := u.n.Ranges()
	if err != nil {
		return err
	}
	// Once in each boot, too: a backfill may have brought the ranges and not have seen
	// all, and the data directory may have been another's for a while.
	if !u.born && !u.left && u.p.Asked == u.n.Epoch() && covers(stored, u.call.Sets) {
		return nil
	}
	living := u.Witness.Living()
	if len(living) == 0 {
		u.p.Asked = u.n.Epoch()
		return nil
	}
	n := 0
	err = u.verb(func(tx ipam.Tx) error {
		n = 0
		for _, l := range living {
			for _, addr := range l.Addrs {
				a, held, err := tx.Get(addr)
				if err != nil {
					return err
				}
				if !record.InSets(u.call.Sets, addr) || (held && !u.stale(a)) {
					continue
				}
				h := l.Holder
				err = tx.Put(record.Allocation{Addr: addr, Epoch: u.epoch(), Holders: []record.Holder{h}})
				if errors.Is(err, ErrAside) {
					continue
				}
				if err != nil {
					return err
				}
				n++
			}
		}
		return nil
	})
	if err == nil {
		u.p.Asked = u.n.Epoch()
	}
	if n > 0 && err == nil {
		u.warnf("took over %s of living attachments from the cache of results", counted(n))
	}
	return err
}

// covers tells whether each range of sets lies in one that is stored. Of one that
// lies in several together it does not: there may be a gap between them. Nor of one
// that gives out what was excluded.
func covers(stored, sets []record.RangeSet) bool {
	for _, r := range slices.Concat(sets...) {
		if !slices.ContainsFunc(slices.Concat(stored...), func(s record.Range) bool {
			return s.Contains(r.Start) && s.Contains(r.End) && excludes(r.Exclude, s.Exclude)
		}) {
			return false
		}
	}
	return true
}

// excludes tells whether each prefix of were lies in one of list.
func excludes(list, were []netip.Prefix) bool {
	return slices.Equal(list, were) || !slices.ContainsFunc(were, func(w netip.Prefix) bool {
		return !slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Bits() <= w.Bits() && p.Contains(w.Addr()) })
	})
}

// counted is for people.
func counted(n int) string {
	if n == 1 {
		return "1 allocation"
	}
	return fmt.Sprintf("%d allocations", n)
}
