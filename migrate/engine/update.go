package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// update is one writing call.
type update struct {
	*Engine
	call Call
	n    form.New
	old  form.Old
	p    Progress
	was  Progress // what is stored
	c    form.Contents
	// found is what the old form had when the call began. What the call itself
	// writes there is no other's.
	found form.Contents

	born     bool   // the network was not known before
	unstored bool   // and does not become so
	unseen   bool   // the place of a form that is shut cannot be looked at
	unsure   bool   // something in the old form was taken back: the next call looks anew
	closes   bool   // and goes to contract at once
	left     bool   // the network has left legacy in this call
	reopen   bool   // a step from contract back: the old form is written at the end
	after    func() // what has to wait for the commit
	swapped  bool   // and that after has done the swap
	ended    bool   // a swap that an earlier call has begun was done before the step
	unopened error  // why what an earlier call has prepared could not be opened
	from     Phase  // in which an operator's step began

	untraced bool               // fn has changed what the old form does not tell
	mirrored []form.Change      // what fn has changed in the old form, with its marks
	settled  int                // as many of these were due, and stay
	last     map[int]netip.Addr // the cursors that fn has set there
}

func (u *update) run(fn func(ipam.Tx) error) (verb, err error) {
	known, err := u.begin()
	if err != nil {
		return nil, err
	}
	if !known && u.call.Kind.byHand() {
		return nil, fmt.Errorf("network %s: %w", u.call.Network, ErrUnknown)
	}
	if !known {
		if err := u.due(func(fn func(ipam.Tx) error) error { return fn(u.n) }); err != nil {
			return nil, err
		}
		return u.n.Try(func() error { return fn(u.n) }), nil
	}
	u.found = u.c
	// settle comes before make, as a tombstone may stand where a directory would be
	// made; forget before step, as legacy knows no boots; prepare after the verb,
	// as it writes what the verb gave.
	for _, due := range []func() error{u.settle, u.make, u.merge, u.forget} {
		if err := due(); err != nil {
			return nil, err
		}
	}
	if u.closes {
		u.beginShut()
	}
	// From here on a failure is the call's, and takes back nothing of the above.
	if verb = u.due(u.verb); verb != nil {
		return verb, u.save()
	}
	u.settled = len(u.mirrored)
	before := u.p
	if verb = u.n.Try(u.step); verb != nil {
		u.p = before
	} else if verb = u.adopt(); verb == nil {
		verb = u.keepRanges(u.verb(fn))
	}
	before = u.p
	if err := u.n.Try(u.prepare); err != nil {
		u.p = before
		if verb == nil {
			verb = err
		}
	}
	return verb, u.save()
}

// keepRanges stores the ranges of an ADD that found no address in them: a node
// that was full when it moved, or whose ranges were narrowed, would else look as
// if nothing were wrong. An ADD that fails for another reason leaves nothing.
func (u *update) keepRanges(verb error) error {
	if u.call.Kind != KindAdd || !errors.Is(verb, ipam.ErrExhausted) {
		return verb
	}
	return errors.Join(verb, u.n.Try(func() error { return u.n.SetRanges(u.call.Sets) }))
}

// due does what earlier calls have left, by way of do.
func (u *update) due(do func(func(ipam.Tx) error) error) error {
	if u.call.Due == nil {
		return nil
	}
	changed := func(addr netip.Addr) time.Time {
		e, there := u.found.At(addr)
		if !there || u.wrote(e) {
			return time.Time{}
		}
		return u.old.Changed(e.Holder.Mark)
	}
	return u.n.Try(func() error {
		return do(func(tx ipam.Tx) error { return u.call.Due(tx, changed) })
	})
}

// wrote tells whether an entry is our own, however late it was written: a step or
// a repair may have done that, and no attachment has come with it.
func (u *update) wrote(e form.Entry) bool {
	a, held, err := u.n.Get(e.Addr)
	return err == nil && held && slices.ContainsFunc(a.Holders, func(h record.Holder) bool {
		return h.Mark == e.Holder.Mark && h.Origin != record.OriginHostLocal
	})
}

// epoch is what an allocation of this call carries.
func (u *update) epoch() uint64 {
	if u.call.Runtime {
		return u.n.Epoch()
	}
	return 0
}

func (u *update) stale(a record.Allocation) bool { return u.Stale(u.n.Epoch(), a) }

// save stores where the migration stands.
func (u *update) save() error {
	if u.p.Phase.mirrored() && u.c.Exists && !u.unsure {
		u.p.stamp(u.c)
	}
	if u.unstored || !u.born && u.p.same(u.was) {
		return nil
	}
	doc, err := u.p.encode()
	if err != nil {
		return err
	}
	return u.n.SetMigration(doc)
}

func (u *update) warnf(format string, args ...any) {
	u.Warn("network " + u.call.Network + ": " + fmt.Sprintf(format, args...))
}
