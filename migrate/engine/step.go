package engine

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// step goes one phase towards the target, or where an operator says. One that
// has to wait is told in Waits, and fails an operator alone.
func (u *update) step() error {
	if u.call.Kind.byHand() {
		return u.stepByHand()
	}
	if u.call.Kind != KindAdd || u.born {
		return nil
	}
	u.p.Target = u.call.Target
	if u.ended && u.p.Phase == Switch { // that was the step
		u.p.Waits = ""
		return nil
	}
	if u.p.Pending == Contract && u.p.Target == Contract {
		return nil // it could not be done in this call, see Waits
	}
	u.p.Pending = ""
	waits, err := u.take(u.p.Phase.Towards(u.p.Target))
	u.p.Waits = waits
	return err
}

func (u *update) stepByHand() error {
	if u.call.Force && u.call.Kind == KindRollback {
		u.p.Target = "" // until an ADD names it again
	}
	next, target := u.call.Kind.from(u.p.Phase), u.p.Target
	u.from = u.p.Phase
	switch {
	case u.ended && u.p.Phase == u.call.Kind.from(u.was.Phase):
		u.from, u.p.Waits = u.was.Phase, ""
		return nil // this was the rest of one that was cut
	case next == u.p.Phase:
		return fmt.Errorf("%w: network %s is in phase %s already", ErrStep, u.call.Network, next)
	case target.Valid() && u.p.Phase.Towards(target) != next:
		return fmt.Errorf("%w: network %s is in phase %s, and the configuration of its last ADD had ipam.migration.phase %s, so the next one would undo it: change that instead",
			ErrStep, u.call.Network, u.p.Phase, target)
	}
	if u.call.Kind == KindRollback {
		u.p.Pending = "" // a swap that could not be done is not wanted any more
	}
	waits, err := u.take(next)
	if err == nil && waits != "" {
		err = fmt.Errorf("%w: network %s stays in phase %s: %s", ErrStep, u.call.Network, u.p.Phase, waits)
	}
	u.p.Waits = "" // of an ADD before
	return err
}

// take goes to a phase that is one step away, or tells why that has to wait.
func (u *update) take(next Phase) (waits string, err error) {
	phase := u.p.Phase
	if next == phase {
		return "", nil
	}
	all, err := load(u.n)
	if err != nil {
		return "", err
	}
	switch {
	case next == Contract:
		return u.toContract(all)
	case phase == Contract:
		if err := u.Outlives(u.old.Path()); err != nil {
			return err.Error(), nil
		}
		u.reopen = true
		return "", nil
	case next == Legacy && u.p.Epoch != u.n.Epoch(): // nobody there knows them from the living
		return fmt.Sprintf("what earlier boots have left in %s could not be removed", u.old.Path()), nil
	case next.Before(phase):
		if addr, shared := u.sharedIn(all); shared {
			return fmt.Sprintf("%s is held by two attachments, and %s can name one of them", addr, u.old.Path()), nil
		}
	}
	u.p.Phase = next
	switch next {
	case Legacy:
		if err := u.drop(all); err != nil {
			return "", err
		}
		u.p.Place, u.p.Stamp, u.p.Epoch = "", "", 0
	case Expand:
		if phase == Legacy {
			u.left = true
			if err := u.drop(all); err != nil { // as a repair makes them: in legacy nobody keeps them up
				return "", err
			}
			if err := u.make(); err != nil {
				return "", err
			}
			u.p.Epoch = u.n.Epoch() // all that is there belongs to this boot
			return "", u.importOld()
		}
	}
	return "", nil
}

// drop deletes all that is stored.
func (u *update) drop(all map[netip.Addr]record.Allocation) error {
	for addr := range all {
		if err := u.n.Delete(addr); err != nil {
			return err
		}
	}
	return nil
}

func (u *update) sharedIn(all map[netip.Addr]record.Allocation) (netip.Addr, bool) {
	for addr, a := range all {
		if len(a.Holders) > 1 && !u.stale(a) {
			return addr, true
		}
	}
	return netip.Addr{}, false
}

// toContract begins the swap; the commit comes before it.
func (u *update) toContract(all map[netip.Addr]record.Allocation) (waits string, err error) {
	if diff := differences(all, u.c, u.stale); len(diff) > 0 {
		return "the forms differ: " + diff[0], nil
	}
	if !u.call.Force {
		if theirs := u.madeByHostLocal(all); theirs > 0 {
			return fmt.Sprintf("%s made by host-local: a runtime may still send the DEL there; they go with their pods or at the next boot", counted(theirs)), nil
		}
	}
	u.beginShut()
	return "", nil
}

// madeByHostLocal counts the holders of this boot that come from the old form's
// users.
func (u *update) madeByHostLocal(all map[netip.Addr]record.Allocation) (n int) {
	for _, a := range all {
		for _, h := range a.Holders {
			if h.Origin == record.OriginHostLocal && !u.stale(a) {
				n++
			}
		}
	}
	return n
}

// beginShut notes the swap, which follows the commit.
func (u *update) beginShut() {
	u.p.Pending = Contract
	u.after = func() { u.swapped = u.shut() }
}

// prepare writes the old form anew beside its tombstone, as a step back from
// contract has to: it comes whole, once that is committed.
func (u *update) prepare() error {
	if !u.reopen {
		return nil
	}
	all, err := load(u.n)
	if err != nil {
		return err
	}
	last, err := u.cursors()
	if err != nil {
		return err
	}
	var entries []form.Entry
	for _, addr := range newMemory(u.n, all).sorted() {
		if a := all[addr]; !u.stale(a) {
			entries = append(entries, form.Entry{Addr: addr, Holder: a.Holders[0]})
		}
	}
	c, err := u.old.Prepare(entries, last)
	if err != nil {
		return u.wait(err)
	}
	if err := u.markAs(all, c); err != nil {
		return err
	}
	u.p.Pending, u.p.Epoch = Switch, u.n.Epoch()
	u.p.stamp(c)
	if u.unopened != nil { // told now, and tried by the next call
		return u.wait(u.unopened)
	}
	u.after = func() {
		opened, err := u.open()
		if !opened {
			u.warnf("%v", err)
		}
		u.swapped = opened
	}
	return nil
}

// cursors are those that are stored, by the index of the range set.
func (u *update) cursors() (map[int]netip.Addr, error) {
	sets, err := u.n.Ranges()
	if err != nil {
		return nil, err
	}
	last := map[int]netip.Addr{}
	for i, set := range sets {
		if addr := u.n.Cursor(set); addr.IsValid() {
			last[i] = addr
		}
	}
	return last, nil
}

// markAs gives all allocations the marks of the old form's entries, and none to
// those that have no entry.
func (u *update) markAs(all map[netip.Addr]record.Allocation, c form.Contents) error {
	for addr, a := range all {
		marked, changed := unmarked(a), hasMark(a)
		if e, written := c.At(addr); written {
			marked, changed = mark(a, e.Holder)
		}
		if !changed {
			continue
		}
		if err := u.n.Put(marked); err != nil {
			return err
		}
	}
	return nil
}

// open opens the old form, and tells whether it is open, even if a power cut may
// undo that.
func (u *update) open() (opened bool, err error) {
	err = u.old.Open()
	if errors.Is(err, form.ErrUnsynced) {
		u.warnf("%v", err)
		return true, err
	}
	return err == nil, err
}

// wait lets an ADD go on although its step failed; an operator is told.
func (u *update) wait(err error) error {
	if u.call.Kind.byHand() {
		return ipam.Errorf(ipam.CodeIO, "%w", err)
	}
	u.p.Waits = err.Error()
	u.warnf("the step to switch waits: %v", err)
	return nil
}
