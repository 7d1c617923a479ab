package migrate

import (
	"errors"
	"fmt"
	"os"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/migrate/hostlocal"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// ErrInUse: a network that is to be forgotten holds addresses.
var ErrInUse = errors.New("nothing was forgotten")

// Forgotten is what Forget has removed, or would remove.
type Forgotten struct {
	// PreviousBoot counts the allocations of earlier boots, which were free.
	PreviousBoot int
	// Tombstone is the path of the one that goes, "" where there is none of ours.
	Tombstone string

	says form.Tombstone // what that one says
}

// Forget removes all that is known of a network that nobody uses any more, from the
// checkpoint and from the place of host-local's directory: its next ADD is like
// its first. A directory is host-local's, and stays. A dry run changes nothing.
//
// The error wraps ErrInUse where something is held in this boot, or where a
// directory that bolt-local writes has files for addresses; store.ErrLost where
// allocations are missing, in the network or in those that are not stored; and
// engine.ErrUnknown where the network is not stored.
//
// The tombstone goes before the commit. Killed in between, a network without a
// tombstone is left, which the next call in it puts back, and which a second
// Forget ends. The other way round the next ADD would find a tombstone of this
// boot and no network, and take that for lost.
func (s State) Forget(network string, dryRun bool) (Forgotten, error) {
	var f Forgotten
	if dryRun {
		err := s.Store.Read(func(tx *store.Tx) error {
			return s.forgettable(tx, network, &f, func(engine.View) error { return nil })
		})
		return f, s.cniError(err)
	}
	op, call, known := store.Op{Verb: "forget"}, s.call(network), false
	if s.Store.CountDeferred() > 0 { // one may free what is still held
		if _, err := s.update(op, call, func(ipam.Tx) error { return nil }); err != nil {
			return f, err
		}
	}
	err := s.healing(call, func() error {
		return s.Store.Update(op, func(tx *store.Tx) error {
			known, f = true, Forgotten{}
			return s.forgettable(tx, network, &f, func(v engine.View) error {
				return s.forget(tx, network, v, f)
			})
		})
	})
	if err == nil && !known { // there is no checkpoint
		err = fmt.Errorf("network %s: %w", network, engine.ErrUnknown)
	}
	return f, s.cniError(err)
}

// forgettable notes in f what of a network would go, and calls fn, host-local kept
// out, where nothing speaks against it.
func (s State) forgettable(tx *store.Tx, network string, f *Forgotten, fn func(engine.View) error) error {
	n := tx.Network(network)
	if !n.Exists() {
		return fmt.Errorf("network %s: %w", network, engine.ErrUnknown)
	}
	if err := n.Whole(); err != nil {
		return err
	}
	if l, lost := tx.Lost(); lost {
		return fmt.Errorf("%w: %s: ADD is refused in all networks that are not stored, and network %s would be one of them: %s",
			store.ErrLost, s.Store.Path(), network, l.Reason)
	}
	return s.ViewIn(tx, network, false, func(v engine.View) error {
		if v.Unseen != nil { // the tombstone has to go with the rest
			return fmt.Errorf("nothing was forgotten: %w", v.Unseen)
		}
		if t := v.Old.Shut; t != nil && s.Owns(*t, network) {
			f.Tombstone, f.says = v.Progress.OldPath, *t
		}
		if err := s.unused(tx, network, v, f); err != nil {
			return err
		}
		return fn(v)
	})
}

// unused tells why a network is in use. In legacy all is in host-local's directory,
// which knows it without the checkpoint.
func (s State) unused(tx *store.Tx, network string, v engine.View, f *Forgotten) error {
	if v.Progress.Phase == engine.Legacy {
		return nil
	}
	held := 0
	err := v.Each(func(a record.Allocation) error {
		if s.Stale(tx.Epoch(), a) {
			f.PreviousBoot++
		} else {
			held++
		}
		return nil
	})
	files := len(v.Old.Entries) + len(v.Old.SetAside)
	switch {
	case err != nil:
		return err
	case held > 0:
		return fmt.Errorf("%w: network %s holds %d of its addresses in this boot, see `%s`: stop their pods, or free what nobody uses by `%s` or `%s`",
			ErrInUse, network, held, s.command(network, "dump"), s.command(network, "gc"), s.command(network, "release", "--ip", "ADDRESS"))
	case files > 0 && v.Progress.Phase == engine.Contract:
		return fmt.Errorf("%w: host-local's directory %s is still there: run `%s`, which puts the tombstone in its place", ErrInUse, v.Progress.OldPath, s.command(network, "gc"))
	case files > 0:
		return fmt.Errorf("%w: host-local's directory %s of network %s, in phase %s, has files for %d of its addresses: shut it by `%s` until the phase is contract, or leave it to host-local by `%s` until it is legacy",
			ErrInUse, v.Progress.OldPath, network, v.Progress.Phase, files, s.command(network, "migrate", "advance"), s.command(network, "migrate", "rollback"))
	}
	return nil
}

// forget removes the tombstone, and then, with the commit, the network.
func (s State) forget(tx *store.Tx, network string, v engine.View, f Forgotten) error {
	due, err := tx.Network(network).Deferred()
	if err != nil {
		return err
	}
	if len(due) > 0 {
		return fmt.Errorf("%w: a DEL of network %s came this moment that could not be written: repeat it", ErrInUse, network)
	}
	if err := tx.Forget(network); err != nil { // before anything else is removed
		return err
	}
	if path := v.Progress.OldPath; path != "" && (v.Old.Shut == nil || f.Tombstone != "") {
		s.Store.Outside(func() { err = hostlocal.At(path).Forget(f.says) })
		if errors.Is(err, form.ErrCannotShut) {
			s.Warn(fmt.Sprintf("network %s: what others have left beside %s stays: %v", network, path, err))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Owns tells whether a tombstone is that of a network in this data directory, to
// which several paths may lead.
func (s State) Owns(t form.Tombstone, network string) bool {
	return t.Network == network && SameDir(t.DataDir, s.Store.Dir())
}

// SameDir tells whether two paths lead to one directory.
func SameDir(a, b string) bool {
	if a == b {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
