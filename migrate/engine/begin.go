package engine

import (
	"errors"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/filelock"
)

// begin locks the old form and looks at it. It reports false for a network that
// is not known and does not become so.
func (u *update) begin() (known bool, err error) {
	doc, err := u.n.Migration()
	if err != nil {
		return false, err
	}
	path := u.call.OldPath
	if doc != nil {
		if u.p, err = decodeProgress(doc); err != nil {
			return false, u.call.named(err)
		}
		u.was = u.p
		path = u.p.OldPath
	} else if path == "" || !u.call.Enters {
		return false, nil
	}
	u.old = u.OpenOld(path)
	if err := u.lock(); err != nil {
		return false, err
	}
	if u.c, err = u.old.Look(); err != nil && doc != nil && u.p.closed() && !errors.Is(err, form.ErrLink) {
		u.warnf("%v", err)
		u.unseen = true // nobody else can use it either
	} else if err != nil {
		return false, ipam.Errorf(ipam.CodeIO, "%w", err)
	}
	if doc == nil {
		return u.enter()
	}
	if u.call.Kind.brings() || u.call.Kind.byHand() {
		return true, u.NotAnothers(u.c)
	}
	return true, nil
}

// lock takes the old form's lock. What cannot be written is read all the same:
// a call may have nothing to write.
func (u *update) lock() error {
	err := u.old.Lock(true, u.Deadline)
	if err == nil || errors.Is(err, filelock.ErrLocked) {
		return err
	}
	if u.old.Lock(false, u.Deadline) != nil {
		return ipam.Errorf(ipam.CodeIO, "%w", err)
	}
	return nil
}

// enter makes a network known: at its target, at switch at most where the old
// form has something to say.
func (u *update) enter() (bool, error) {
	empty := !u.c.Exists || u.c.Bare
	if empty && !u.call.Kind.brings() {
		return false, nil // nothing is stored anywhere
	}
	if err := u.NotAnothers(u.c); err != nil {
		return false, err
	}
	if err := u.Admit(u.c); err != nil && u.call.Kind.brings() {
		return false, err
	} else if err != nil { // what frees works on the old form, and nothing is stored
		u.unstored, u.p = true, Progress{Phase: Legacy, OldPath: u.old.Path()}
		return true, nil
	}
	u.born = true
	u.p = Progress{Phase: u.call.Target, OldPath: u.old.Path(), Target: u.call.Target, Epoch: u.n.Epoch()}
	if u.p.Phase == "" || u.p.Phase == Contract {
		u.p.Phase = Switch
		if empty {
			return true, u.enterClosed()
		}
	}
	return true, nil
}

// enterClosed is for a network of which the old form knows nothing: it is shut
// in the same call. Until that is committed it is written first as ever, or its
// users would give the same address in between.
func (u *update) enterClosed() error {
	if u.c.Shut == nil {
		err := u.old.Make(u.Deadline)
		if err == nil {
			err = u.look()
			u.closes = u.c.Bare // else somebody has used it in between
			return err
		}
		u.warnf("%v", err)
	}
	u.p.Phase = Contract
	return nil
}

// make makes the old form where it is to be written and not there. Only who
// takes addresses needs it.
func (u *update) make() error {
	if u.c.Exists || u.NotAnothers(u.c) != nil || !(u.p.Phase.mirrored() || u.p.Phase == Legacy && u.call.Kind.brings()) {
		return nil
	}
	if err := u.old.Make(u.Deadline); err != nil {
		err = ipam.Errorf(ipam.CodeIO, "%w", err)
		// A step by hand, too: towards legacy it would delete the records, and nothing
		// else would name their holders.
		if u.call.Kind.brings() || u.call.Kind.byHand() {
			return err
		}
		u.warnf("%v", err)
	}
	return u.look()
}

func (u *update) look() error {
	var err error
	if u.c, err = u.old.Look(); err != nil {
		return ipam.Errorf(ipam.CodeIO, "%w", err)
	}
	return nil
}
