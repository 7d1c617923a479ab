package engine

import (
	"errors"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// effective is the phase that holds, by what is found in the old form's place:
// a swap is done when it is done, not when it is noted.
func effective(p Progress, c form.Contents) Phase {
	switch {
	case p.Phase == Contract && p.Pending == Switch && c.Shut == nil:
		return Switch // our own swap, whatever has become of it since
	case p.Phase == Contract && c.Exists && !c.Bare && c.Stamp() != p.Stamp:
		return Switch // somebody has used the old form
	case p.Pending == Contract && (c.Shut != nil || p.Waits == "" && (!c.Exists || c.Bare)):
		// Both forms were equal when it was committed, so nothing is as good as
		// the tombstone, which is put back.
		return Contract
	}
	return p.Phase
}

// closed tells whether the old form is of no use, so that a place that cannot
// be looked at stops nothing.
func (p Progress) closed() bool { return effective(p, form.Contents{}) == Contract }

// settle ends what an earlier call has begun, and steps back to switch where
// somebody has used the old form although it was shut.
func (u *update) settle() error {
	if u.NotAnothers(u.c) != nil {
		return nil // what is shut there is not ours
	}
	phase, pending := effective(u.p, u.c), Phase("")
	switch {
	case phase == Contract && u.p.Phase != Contract && u.c.Shut == nil && !u.unseen:
		// The swap was begun, and then the old form was lost. As long as it
		// cannot be shut it has to be written.
		if u.shut() {
			u.c = form.Contents{Shut: &u.Tombstone}
		} else {
			phase, pending = u.p.Phase, Contract
		}
	case phase == Switch && u.p.Phase == Contract && u.p.Pending != Switch:
		u.warnf("%s is in use again although it was shut: both are merged, and the phase is switch", u.old.Path())
		if err := u.Outlives(u.old.Path()); err != nil {
			u.warnf("%v", err)
		}
	case phase == Switch && u.p.Pending == Contract && u.c.Stamp() == u.p.Stamp:
		// The call that began the swap was cut, or could not do it.
		switch {
		case u.call.Kind != KindAdd && !u.call.Kind.byHand():
			pending = Contract
		case u.shut():
			phase = Contract
			u.c, u.ended = form.Contents{Shut: &u.Tombstone}, true
		case u.p.Target == Contract:
			pending = Contract
		}
	case phase == Contract && u.p.Pending == Switch && u.reopens() && u.prepared():
		// So was this one. The records have the marks of what stands ready: written anew,
		// it would be another's to whoever ends a cut of this call.
		var opened bool
		if opened, u.unopened = u.open(); !opened {
			break
		}
		phase, u.ended = Switch, true
		if u.unopened != nil {
			pending = Switch // it stays begun until it is durable
		}
		if err := u.relock(); err != nil {
			return err
		}
	}
	if u.p.Pending != "" && pending == "" {
		if err := u.old.Sync(); err != nil { // it would be noted as done, and undone by a power cut
			u.warnf("%v", err)
			pending = u.p.Pending
			if phase == Contract && pending == Switch { // what stands ready does not get what comes from now on
				u.p.Stamp = ""
			}
		}
	}
	u.p.Phase, u.p.Pending = phase, pending
	if phase != Contract {
		return nil
	}
	switch {
	case u.born:
		u.after = func() { u.shut() } // a tombstone of what is not stored would be a lie
	case u.c.Shut == nil || u.call.Kind.brings() || u.call.Kind.byHand():
		u.shut()
		// What only frees does not claim the boot: a runtime sends the DEL of a pod of an
		// earlier boot with the configuration of its ADD, which may name another checkpoint.
	}
	return nil
}

// reopens tells whether the call asks for the step back from contract that an
// earlier one has begun.
func (u *update) reopens() bool {
	switch u.call.Kind {
	case KindAdd:
		return u.call.Target.Valid() && u.call.Target != Contract
	case KindRollback:
		return u.call.Force || u.p.Target != Contract
	}
	return false
}

// prepared tells whether what stands ready is what was committed: a call that was
// cut may have begun another.
func (u *update) prepared() bool {
	c, err := u.old.Prepared()
	return err == nil && c.Exists && c.Stamp() == u.p.Stamp
}

// relock locks and looks at the old form that was opened in this call.
func (u *update) relock() error {
	u.old.Unlock() // some forms keep theirs while they are shut
	if err := u.lock(); err != nil {
		return err
	}
	return u.look()
}

// shut closes the old form, and tells whether it is closed, even if a power cut
// may undo that. A network whose old form cannot be closed goes on without.
func (u *update) shut() bool {
	if u.c.Shut != nil && *u.c.Shut == u.Tombstone {
		return true
	}
	err := u.old.Shut(u.Tombstone)
	if err == nil {
		return true
	}
	u.warnf("%v", err)
	if errors.Is(err, form.ErrUnsynced) {
		return true
	}
	if u.p.Phase != Contract {
		u.p.Waits = err.Error()
	}
	return false
}
