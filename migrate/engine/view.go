package engine

import (
	"errors"
	"net/netip"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/filelock"
	"github.com/bolt-local/bolt-local/store/record"
)

// View is what a reading call sees: the state that the next writing call would
// begin with.
type View struct {
	ipam.Reader
	// Known: the network is stored.
	Known bool
	// Progress is what is stored; its Phase is the one that holds.
	Progress Progress
	// Old is what the old form says.
	Old form.Contents
	// Unseen is why the old form could not be looked at. A call in Contract needs
	// nothing of it, and Old is empty.
	Unseen error
	// Changed: another has changed the old form since our last write.
	Changed bool
	// Differences are those between both forms as they are stored, where the
	// call compares and both are.
	Differences []string
}

// View calls fn with what n and its old form say together. It writes nothing.
// A call of KindAdd fails where an ADD would.
func (e *Engine) View(n form.New, call Call, fn func(View) error) error {
	doc, err := n.Migration()
	if err != nil {
		return err
	}
	v := View{Reader: n, Known: doc != nil, Progress: Progress{OldPath: call.OldPath}}
	if doc != nil {
		if v.Progress, err = decodeProgress(doc); err != nil {
			return call.named(err)
		}
	}
	if v.Progress.OldPath == "" {
		return fn(v)
	}
	if v.Known && call.Kind == KindAdd {
		if err := call.samePlace(v.Progress); err != nil {
			return err
		}
	}
	old := e.OpenOld(v.Progress.OldPath)
	if err := old.Lock(false, e.Deadline); errors.Is(err, filelock.ErrLocked) {
		return err
	}
	defer old.Unlock()
	if v.Old, err = old.Look(); err != nil {
		if !v.Known || !v.Progress.closed() || errors.Is(err, form.ErrLink) {
			return ipam.Errorf(ipam.CodeIO, "%w", err)
		}
		v.Unseen = err
	}
	if call.Kind == KindAdd {
		if err := e.NotAnothers(v.Old); err != nil {
			return err
		}
	}
	if !v.Known && call.Kind == KindAdd {
		if err := e.Admit(v.Old); err != nil {
			return err
		}
	}
	if t := v.Old.Shut; v.Known && call.Kind == KindAdd && t != nil && *t == (form.Tombstone{}) && effective(v.Progress, v.Old).mirrored() {
		return ipam.Errorf(ipam.CodeIO, "something stands in the place of %s: remove it", v.Progress.OldPath)
	}
	if err := e.overlay(&v, n, call); err != nil {
		return err
	}
	return fn(v)
}

// overlay puts a copy in the place of what is stored, where the old form says
// something else.
func (e *Engine) overlay(v *View, n form.New, call Call) error {
	aside := v.Progress
	if v.Old.Exists {
		aside.noteAsides(v.Old, n.Epoch())
	}
	v.Progress.SetAside = aside.SetAside
	stale := func(a record.Allocation) bool { return e.Stale(n.Epoch(), a) }
	defer func() {
		m := masked{Reader: v.Reader, aside: aside.blocked(n.Epoch()), sets: call.Sets}
		if v.Progress.Phase != Contract {
			m.last = v.Old.Last
		}
		v.Reader = m
	}()
	stored := v.Progress
	if v.Known {
		v.Progress.Phase = effective(stored, v.Old)
	}
	var all map[netip.Addr]record.Allocation
	var err error
	switch phase := v.Progress.Phase; {
	case !v.Known || phase == Legacy:
	case phase == Contract:
		return nil
	default:
		v.Changed = v.Old.Stamp() != stored.Stamp
		if !v.Changed && !call.Compares {
			return nil
		}
		if all, err = load(n); err != nil {
			return err
		}
		if call.Compares {
			v.Differences = differences(all, v.Old, stale)
		}
		if !v.Changed {
			return nil
		}
	}
	m := &merge{
		epoch:    n.Epoch(),
		stale:    stale,
		complete: e.Witness.Complete,
		replaced: stored.Place != v.Old.Place,
	}
	v.Reader = newMemory(n, m.after(all, v.Old))
	return nil
}
