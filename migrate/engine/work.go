package engine

import (
	"errors"
	"net/netip"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// Work is one writing call: Run within the transaction, Committed once that is
// durable, Answer and Unlock at the end, in this order.
type Work struct {
	u    update
	ran  bool
	verb error
}

// Begin begins a writing call. It does nothing yet.
func (e *Engine) Begin(call Call) *Work {
	return &Work{u: update{Engine: e, call: call}}
}

// Run runs fn on the network that n stores, and keeps both forms in step. fn's
// error is kept for Answer: what the engine had to do itself stays done, and has
// to be committed.
func (w *Work) Run(n form.New, fn func(ipam.Tx) error) error {
	w.u.n = n
	var err error
	w.verb, err = w.u.run(fn)
	w.ran = err == nil
	return err
}

// Committed does what has to wait for the commit.
func (w *Work) Committed() {
	if w.u.after != nil {
		w.u.after()
	}
}

// Step is the one that an operator asked for: where it began, and where it has
// led by now. That is the zero Step for a network that is not known.
func (w *Work) Step() Step {
	s := Step{From: w.u.from, To: w.u.p.Phase}
	if w.u.swapped {
		s.To = w.u.p.Pending
	}
	return s
}

// Answer is what the caller is told, where the transaction ended with err; full
// tells that the disk was. Where it could not be committed the old form has been
// written: what was taken is taken back there, or nobody would free what nobody
// was told of. What was freed stays so, and what was due, and the next call sees
// it; on a full disk that is a success.
func (w *Work) Answer(err error, full bool) error {
	switch {
	case err == nil:
		return w.verb
	case !w.ran || w.u.old == nil || w.u.p.Phase == Contract:
		return err
	case w.u.call.Kind.brings():
		return errors.Join(err, w.u.takeBack(w.u.mirrored[w.u.settled:]))
	case full && !w.u.call.Kind.byHand() && w.verb == nil && !w.u.untraced:
		w.u.warnf("%v; %s has it, and the next call that finds room takes it over", err, w.u.old.Path())
		return nil
	}
	return err
}

// Unlock gives the old form's lock back.
func (w *Work) Unlock() {
	if w.u.old != nil {
		w.u.old.Unlock()
	}
}

// UpdateOld runs fn on the old form alone, for a call that frees where nothing
// can be stored: a full disk must not keep an address.
func (e *Engine) UpdateOld(call Call, fn func(ipam.Tx) error) error {
	call.Enters, call.Target = true, Legacy
	w := e.Begin(call)
	defer w.Unlock()
	return w.Answer(w.Run(newUnstored(), fn), false)
}

// takeBack undoes in the old form what fn has changed there. Whom an ADD has freed
// is certainly gone, and stays so: an entry that is made anew would be another's.
func (u *update) takeBack(mirrored []form.Change) error {
	var changes []form.Change
	for _, c := range mirrored {
		if u.call.Kind.brings() && c.Want == nil {
			continue
		}
		if u.call.Kind.brings() && c.Had != nil && c.Had.Holder.ContainerID != c.Want.ContainerID {
			c.Had = nil
		}
		back := form.Change{Addr: c.Addr}
		if c.Want != nil {
			back.Had = &form.Entry{Addr: c.Addr, Holder: *c.Want}
		}
		if c.Had != nil && c.Had.Holder.ContainerID != "" {
			back.Want = &c.Had.Holder
		}
		changes = append(changes, back)
	}
	if len(changes) == 0 {
		return nil
	}
	was := map[int]netip.Addr{}
	for set := range u.last {
		was[set] = u.c.Last[set]
	}
	_, err := u.old.Apply(changes)
	return errors.Join(err, u.old.SetLast(was))
}
