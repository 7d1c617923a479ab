package engine_test

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// tampered is an old form with something in the way.
type tampered struct {
	form.Old
	// beforeApply, if set, runs between the look and the change.
	beforeApply func([]form.Change)
	// unremovable, if set, is the error of a change that removes an entry.
	unremovable error
	// The errors of making the form, and of the steps of a swap, nil where they work.
	make, shut, prepare, open, sync error
}

func (o tampered) Apply(changes []form.Change) ([]string, error) {
	if o.beforeApply != nil {
		o.beforeApply(changes)
	}
	if o.unremovable != nil && slices.ContainsFunc(changes, func(c form.Change) bool { return c.Want == nil }) {
		return nil, o.unremovable
	}
	return o.Old.Apply(changes)
}

func (o tampered) Make(deadline time.Time) error {
	if o.make != nil {
		return o.make
	}
	return o.Old.Make(deadline)
}

func (o tampered) Shut(t form.Tombstone) error {
	if o.shut != nil {
		return o.shut
	}
	return o.Old.Shut(t)
}

func (o tampered) Prepare(entries []form.Entry, last map[int]netip.Addr) (form.Contents, error) {
	if o.prepare != nil {
		return form.Contents{}, o.prepare
	}
	return o.Old.Prepare(entries, last)
}

func (o tampered) Sync() error {
	if o.sync != nil {
		return o.sync
	}
	return o.Old.Sync()
}

func (o tampered) Open() error {
	if o.open != nil {
		return o.open
	}
	return o.Old.Open()
}

// cannotSwap is an old form with these errors.
func (n *node) cannotSwap(with tampered) {
	n.tamper = func(o form.Old) form.Old {
		with.Old = o
		return with
	}
}

// failing is a new form of which a write fails.
type failing struct {
	form.New
	in int // writes from now on
}

var errWrite = errors.New("the write failed")

func (f *failing) fail() error {
	if f.in--; f.in == 0 {
		return errWrite
	}
	return nil
}

func (f *failing) Put(a record.Allocation) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.New.Put(a)
}

func (f *failing) Delete(addr netip.Addr) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.New.Delete(addr)
}
