package engine_test

import (
	"errors"
	"net/netip"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// state puts the engine between the verbs and a pair, as package migrate does.
type state struct {
	ipam.State // what the writing verbs do not ask for
	node       *node
	cfg        *ipam.Config
}

func (s state) Update(verb ipam.Verb, _ string, fn func(ipam.Tx) error) error {
	call := s.node.engineCall(s.cfg)
	op := enginetest.Op{Verb: string(verb), Creates: verb == ipam.VerbAdd}
	switch verb {
	case ipam.VerbAdd, ipam.VerbDel, ipam.VerbGC:
		op.Runtime, call.Runtime, call.Enters = true, true, true
		if verb == ipam.VerbAdd {
			call.Kind = engine.KindAdd
		}
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
	call := engine.Call{Network: enginetest.Network, OldPath: n.pair.Old.Path(), Target: n.target, Due: n.due}
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
func (n *node) update(op enginetest.Op, call engine.Call, fn func(ipam.Tx) error) (err error) {
	n.told, n.opened = nil, nil
	work := n.engine().Begin(call)
	op.Precheck = call.Precheck
	op.Committed = work.Committed
	defer func() {
		work.Unlock()
		if r := recover(); r != nil && r != errKilled {
			panic(r)
		}
		if n.killed { // and with the process its locks are gone
			if n.opened != nil {
				n.opened.Unlock()
			}
			n.killed, err = false, errKilled
		}
	}()
	err = n.pair.New.Update(op, func(tx form.New) error {
		if n.failWrites > 0 {
			tx = &failing{New: tx, in: n.failWrites}
		}
		return errors.Join(work.Run(tx, fn), n.failCommit)
	})
	if n.killed {
		return errKilled // nobody is left to answer
	}
	return work.Answer(err, errors.Is(err, errFull))
}

// step is an operator's: 1 forward, -1 back.
func (n *node) step(by int, force bool) error {
	call := n.engineCall(nil)
	call.Force = force
	if call.Kind = engine.KindAdvance; by < 0 {
		call.Kind = engine.KindRollback
	}
	return n.update(enginetest.Op{Verb: "migrate"}, call, func(ipam.Tx) error { return nil })
}
