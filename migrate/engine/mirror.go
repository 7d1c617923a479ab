package engine

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// maxTries bounds how often a verb is run because something new stands in the
// old form, written by somebody who does not take its lock.
const maxTries = 3

// verb runs fn, and gives the old form what fn has changed before the new one is
// committed. It has no effect where it fails.
func (u *update) verb(fn func(ipam.Tx) error) error {
	for try := 1; ; try++ {
		err := u.attempt(fn)
		if !errors.Is(err, form.ErrTaken) || try == maxTries {
			return err
		}
		if err := errors.Join(u.look(), u.merge()); err != nil {
			return err
		}
	}
}

func (u *update) attempt(fn func(ipam.Tx) error) error {
	var to working = u.n
	if u.p.Phase == Legacy {
		m := u.newMerge()
		m.replaced = true
		to = newMemory(u.n, m.after(nil, u.c))
	}
	rec := &recorder{
		masked:  masked{Reader: to, aside: u.p.blocked(u.n.Epoch()), sets: u.call.Sets},
		stale:   u.stale,
		brings:  u.call.Kind.brings(),
		to:      to,
		oldPath: u.p.OldPath,
		stored:  u.n,
		touched: map[netip.Addr]bool{},
		given:   map[string]netip.Addr{},
	}
	if u.p.Phase != Contract {
		rec.last, rec.freed = u.c.Last, map[netip.Addr]bool{}
	}
	before := len(u.mirrored)
	err := to.Try(func() error {
		if err := fn(rec); err != nil {
			return err
		}
		if u.p.Phase == Contract {
			return u.unmark(rec)
		}
		return u.mirror(rec)
	})
	if err != nil && len(u.mirrored) > before {
		u.unsure = true
		err = errors.Join(err, u.takeBack(u.mirrored[before:]))
		u.mirrored = u.mirrored[:before]
	}
	return err
}

// unmark: what is written while the old form is shut has no entry there.
func (u *update) unmark(rec *recorder) error {
	for _, addr := range rec.order {
		a, held, err := rec.to.Get(addr)
		if err != nil {
			return err
		}
		if held && hasMark(a) {
			if err := rec.to.Put(unmarked(a)); err != nil {
				return err
			}
		}
	}
	return nil
}

// mirror makes the old form's entries of the touched addresses those of the new
// one, durably, and marks the holders with them.
func (u *update) mirror(rec *recorder) error {
	changes, marked, err := u.changes(rec)
	if err != nil {
		return err
	}
	if len(changes) > 0 {
		if err := u.mirrorChanges(rec, changes, marked); err != nil {
			return err
		}
	}
	failpoint.Hit("engine.mirrored")
	u.last = rec.lastGiven()
	if err := u.old.SetLast(u.last); err != nil {
		u.warnf("%v", err) // the order of addresses alone depends on it
	}
	return nil
}

// changes lists what the old form needs for the touched addresses to be as in the
// new one. marked is what each change marks; no holders: nothing. Where an entry
// names a holder already, that gets its mark, and nothing changes.
func (u *update) changes(rec *recorder) (changes []form.Change, marked []record.Allocation, err error) {
	for _, addr := range rec.order {
		a, held, err := rec.to.Get(addr)
		if err != nil {
			return nil, nil, err
		}
		wanted := held && !u.stale(a) // what is of an earlier boot has left, see forget
		var had *form.Entry
		if e, ok := u.c.At(addr); ok {
			had = &e
		} else if aside, ok := u.c.AsideAt(addr); ok {
			// What names nobody is replaced once it blocks no more, and never removed.
			if _, blocks := rec.aside[addr]; blocks || !wanted {
				continue
			}
			had = &form.Entry{Addr: addr, Holder: record.Holder{Mark: aside.Mark}}
		}
		switch {
		case !wanted && had != nil:
			changes = append(changes, form.Change{Addr: addr, Had: had})
			marked = append(marked, record.Allocation{})
		case !wanted: // what the old form had already lost it cannot tell
			u.untraced = u.untraced || rec.freed[addr]
		case had != nil && names(a, *had):
			u.untraced = true
			if a, changed := mark(a, had.Holder); changed {
				if err := rec.to.Put(a); err != nil {
					return nil, nil, err
				}
			}
		default:
			changes = append(changes, form.Change{Addr: addr, Had: had, Want: &a.Holders[0]})
			marked = append(marked, a)
		}
	}
	return changes, marked, nil
}

// mirrorChanges applies changes to the old form, and gives the holders in marked
// the marks of their new entries.
func (u *update) mirrorChanges(rec *recorder, changes []form.Change, marked []record.Allocation) error {
	marks, err := u.apply(changes)
	if err != nil {
		return err
	}
	for i, c := range changes {
		if c.Want != nil {
			h := *c.Want
			h.Mark = marks[i]
			c.Want = &h
		}
		u.mirrored = append(u.mirrored, c)
	}
	for i, a := range marked {
		if len(a.Holders) == 0 {
			continue
		}
		h := a.Holders[0]
		h.Mark = marks[i]
		a, _ = mark(a, h)
		if err := rec.to.Put(a); err != nil {
			return err
		}
	}
	return nil
}

// names tells whether an entry names one of the holders.
func names(a record.Allocation, e form.Entry) bool {
	return slices.ContainsFunc(a.Holders, func(h record.Holder) bool { return h.MayBe(e.Holder.Attachment) })
}

// mark gives the first holder that an entry names its mark, and all others none.
func mark(a record.Allocation, e record.Holder) (marked record.Allocation, changed bool) {
	want := make([]string, len(a.Holders))
	i := slices.IndexFunc(a.Holders, func(h record.Holder) bool { return h.MayBe(e.Attachment) })
	want[i] = e.Mark
	for i, h := range a.Holders {
		changed = changed || h.Mark != want[i]
	}
	if !changed {
		return a, false
	}
	a.Holders = slices.Clone(a.Holders)
	for i := range a.Holders {
		a.Holders[i].Mark = want[i]
	}
	return a, true
}
