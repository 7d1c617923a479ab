package engine_test

import (
	"errors"
	"net/netip"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// errKilled is the end of a call that was killed at a failpoint.
var errKilled = errors.New("killed")

// state puts the engine between the verbs and a pair, as package migrate does.
type state struct {
	ipam.State // what the writing verbs do not ask for
	node       *node
	cfg        *ipam.Config
}

func (s state) Update(verb ipam.Verb, _ string, fn func(ipam.Tx) error) error {
	call := s.node.engineCall(s.cfg)
	op := store.Op{Verb: string(verb), Creates: verb == ipam.VerbAdd}
	switch verb {
	case ipam.VerbAdd, ipam.VerbDel, ipam.VerbGC:
		op.Runtime, call.Runtime, call.Enters = true, true, true
		call.Grants = verb == ipam.VerbAdd
		op.Creates = op.Creates || s.node.holdsSomething()
	}
	return s.node.update(op, call, fn)
}

func (s state) Ascribed(_ string, att record.Attachment) []netip.Addr {
	for _, l := range s.node.living {
		if l.Holder.Attachment == att {
			return l.Addrs
		}
	}
	return nil
}

func (n *node) engineCall(cfg *ipam.Config) engine.Call {
	call := engine.Call{Network: enginetest.Network, OldPath: n.pair.Old.Path(), Target: n.target}
	if cfg != nil {
		call.Sets = cfg.RangeSets
	}
	return call
}

func (n *node) holdsSomething() bool {
	c, err := n.pair.Old.Open(n.pair.Old.Path()).Look()
	return err == nil && c.Exists && !c.Bare
}

// update is one call in one transaction.
func (n *node) update(op store.Op, call engine.Call, fn func(ipam.Tx) error) (err error) {
	var verb error
	var committed, unlock func()
	e := n.engine()
	op.Committed = func() {
		if committed != nil {
			committed()
		}
	}
	defer func() {
		if unlock != nil {
			unlock()
		}
		if r := recover(); r != nil && r != errKilled {
			panic(r)
		}
		if n.killed { // and with the process its locks are gone
			n.opened.Unlock()
			n.killed, err = false, errKilled
		}
	}()
	err = n.pair.New.Update(op, func(tx form.New) error {
		var err error
		committed, unlock, verb, err = e.Update(tx, call, fn)
		return err
	})
	if err == nil {
		err = verb
	}
	return err
}

// step is an operator's: 1 forward, -1 back.
func (n *node) step(by int, force bool) error {
	call := n.engineCall(nil)
	call.By, call.Force = by, force
	return n.update(store.Op{Verb: "migrate"}, call, func(ipam.Tx) error { return nil })
}

// hook sets the function that gets each failpoint. Tests that use it do not run
// beside others.
func hook(fn func(point string)) (unhook func()) {
	failpoint.Hook = fn
	return func() { failpoint.Hook = nil }
}

// killAt ends fn's call at the nth failpoint that it passes, from 1 on. The
// transaction is gone then, and what was done to files stays. It reports false
// where the call passes fewer.
func (n *node) killAt(nth int, fn func()) (point string, killed bool) {
	passed := 0
	defer hook(func(name string) {
		if passed++; passed == nth {
			point, killed, n.killed = name, true, true
			panic(errKilled)
		}
	})()
	fn()
	return point, killed
}
