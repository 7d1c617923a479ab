package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/filelock"
	"github.com/bolt-local/bolt-local/store/record"
)

// Engine is what the calls of one node have in common.
type Engine struct {
	// OpenOld returns the old form at a path. It does not touch the disk.
	OpenOld func(path string) form.Old
	// Stale tells whether an allocation is of an earlier boot and free; epoch is
	// the number of this one.
	Stale func(epoch uint64, a record.Allocation) bool
	// Witness knows what the old form does not.
	Witness Witness
	// Admit tells why a network that is not yet known must not enter.
	Admit func(form.Contents) error
	// Notice is what is left in a form that is shut.
	Notice form.Notice
	// Deadline bounds the wait for the old form's lock.
	Deadline time.Time
	// Warn gets a line for the operator.
	Warn func(string)
}

// Call is what a call of a verb, or of an operator, may do.
type Call struct {
	// Network is for messages.
	Network string
	// OldPath is where the configuration has the old form, "" where it does not
	// say.
	OldPath string
	// Enters: a network that is not known may become so.
	Enters bool
	// Grants: it is an ADD. It brings ranges, and takes a step towards Target.
	Grants bool
	Target Phase
	Sets   []record.RangeSet
	// Runtime: what it writes carries this boot's number, not 0.
	Runtime bool
	// By is the step of an operator: 1 forward, -1 back, 0 for none.
	By int
	// Force takes an operator's step to contract although the old form's users
	// have allocations, or back although the configuration says otherwise.
	Force bool
	// Compares: a View tells the differences between the forms, which takes
	// reading all of both.
	Compares bool
}

// update is one writing call.
type update struct {
	*Engine
	call Call
	n    form.New
	old  form.Old
	p    Progress
	was  Progress // what is stored
	c    form.Contents

	born   bool   // the network was not known before
	unsure bool   // something in the old form was taken back: the next call looks anew
	closes bool   // and goes to contract at once
	reopen bool   // a step from contract back: the old form is written at the end
	after  func() // what has to wait for the commit

	mirrored []form.Change      // what fn has changed in the old form, with its marks
	last     map[int]netip.Addr // the cursors that fn has set there
}

func (u *update) run(fn func(ipam.Tx) error) (verb, err error) {
	known, err := u.begin()
	if err != nil {
		return nil, err
	}
	if !known && u.call.By != 0 {
		return nil, fmt.Errorf("network %s: %w", u.call.Network, ErrUnknown)
	}
	if !known {
		return u.n.Try(func() error { return fn(u.n) }), nil
	}
	for _, due := range []func() error{u.settle, u.make, u.merge, u.forget} {
		if err := due(); err != nil {
			return nil, err
		}
	}
	// From here on a failure is the call's, and takes back nothing of the above.
	before := u.p
	if verb = u.n.Try(u.step); verb != nil {
		u.p = before
	} else if verb = u.adopt(); verb == nil {
		verb = u.verb(fn)
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
	if u.c, err = u.old.Look(); err != nil && doc != nil && u.p.Phase == Contract && u.p.Pending == "" {
		u.warnf("%v", err) // nothing is kept there
	} else if err != nil {
		return false, ipam.Errorf(ipam.CodeIO, "%w", err)
	}
	if doc == nil {
		return u.enter()
	}
	if u.call.Grants || u.call.By != 0 {
		return true, u.notAnothers(u.c)
	}
	return true, nil
}

// Precheck refuses a call that must not change anything: in a network whose old
// form is elsewhere than the configuration says, or whose phase is of a newer
// version.
func (c Call) Precheck(n form.New) error {
	doc, err := n.Migration()
	if err != nil || doc == nil {
		return err
	}
	p, err := decodeProgress(doc)
	if err != nil {
		return c.named(err)
	}
	if c.Grants {
		return c.samePlace(p)
	}
	return nil
}

// named is for a document that cannot be read.
func (c Call) named(err error) error {
	return fmt.Errorf("network %s: %w; install the version that wrote it, or a newer one", c.Network, err)
}

// samePlace asks that the configuration has the old form where it is.
func (c Call) samePlace(p Progress) error {
	if c.OldPath == p.OldPath {
		return nil
	}
	return ipam.Errorf(ipam.CodeConfig,
		"%w: network %s has it at %s, the configuration at %s; set ipam.migration.hostLocalDir, or ipam.dataDir, back",
		ErrPlace, c.Network, p.OldPath, c.OldPath)
}

// notAnothers asks that the old form was not shut by another checkpoint in this
// boot: that one gives out the same addresses.
func (e *Engine) notAnothers(c form.Contents) error {
	if n := c.Shut; n == nil || n.DataDir == "" || n.DataDir == e.Notice.DataDir || n.BootID == "" || n.BootID != e.Notice.BootID {
		return nil
	}
	return ipam.Errorf(ipam.CodeConfig, "%w: the checkpoint in %s has the allocations of network %s in this boot: set ipam.dataDir to that directory",
		ErrAnothers, c.Shut.DataDir, c.Shut.Network)
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
	if empty && !u.call.Grants {
		return false, nil // nothing is stored anywhere
	}
	if err := u.notAnothers(u.c); err != nil {
		return false, err
	}
	if err := u.Admit(u.c); err != nil {
		return false, err
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
			u.closes = true
			return u.look()
		}
		u.warnf("%v", err)
	}
	u.p.Phase = Contract
	return nil
}

// make makes the old form where it is to be written and not there. Only an ADD
// needs it.
func (u *update) make() error {
	if u.c.Exists || u.notAnothers(u.c) != nil || !(u.p.Phase.mirrored() || u.p.Phase == Legacy && u.call.Grants) {
		return nil
	}
	if err := u.old.Make(u.Deadline); err != nil {
		err = ipam.Errorf(ipam.CodeIO, "%w", err)
		if u.call.Grants {
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
	if !u.born && u.p.same(u.was) {
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
