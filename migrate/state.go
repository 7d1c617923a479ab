package migrate

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/backfill"
	"github.com/bolt-local/bolt-local/migrate/cnicache"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/migrate/hostlocal"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// State is the ipam.State of a node.
type State struct {
	Store *store.Store
	// Config is that of the call, nil for the command line.
	Config *ipam.Config
	// Namespaces and Stale are the plugin's.
	Namespaces ipam.Namespaces
	Stale      func(epoch uint64, a record.Allocation) bool
	// Warn gets a line for the operator.
	Warn func(string)
	// LegacyParents are where an operator's command looks for tombstones, beside
	// host-local's default and the data directory.
	LegacyParents []string
	// Deadline bounds the wait for host-local's lock; the zero time stands for
	// the store's LockTimeout from now on.
	Deadline time.Time
}

var _ ipam.State = State{}

// View implements [ipam.State].
func (s State) View(network string, fn func(ipam.Reader) error) error {
	s.Deadline = s.deadline() // for both locks together
	if err := s.gone(s.call(network)); err != nil {
		return s.cniError(err)
	}
	return s.cniError(s.Store.Read(func(tx *store.Tx) error {
		return s.ViewIn(tx, network, false, func(v engine.View) error { return fn(v) })
	}))
}

// Ready implements [ipam.State].
func (s State) Ready(network string, fn func(ipam.Reader) error) error {
	s.Deadline = s.deadline()
	call := s.call(network)
	if call.OldPath != "" {
		call.Kind = engine.KindAdd
	}
	if err := s.nested(network); err != nil {
		return s.cniError(err)
	}
	if err := s.Store.Writable(); err != nil { // a link would pass for damage
		return s.cniError(err)
	}
	existed := false
	look := func() error {
		return s.Store.ReadWhole(func(tx *store.Tx) error {
			existed = tx.Exists()
			asked := call
			if tx.Network(network).Exists() { // the chained STATUS tells of a loss, too
				asked.Kind = engine.KindAdd
			}
			if err := s.whole(tx, asked); err != nil {
				return err
			}
			return s.engine(network).View(schema1{tx.Network(network), tx}, call, func(v engine.View) error { return fn(v) })
		})
	}
	err := look()
	if err != nil && !existed && s.madeMeanwhile() {
		err = look()
	}
	if err == nil {
		err = OldWritable(call.OldPath)
	}
	return s.cniError(err)
}

// OldWritable tells why host-local's directory could not be written, by asking the
// kernel alone: it writes nothing. What is no directory, "" included, is not asked
// for, and meanwhile a tombstone may take its place.
func OldWritable(oldPath string) error {
	if oldPath == "" || !isDir(oldPath) {
		return nil
	}
	if err := unix.Access(oldPath, unix.W_OK|unix.X_OK); err != nil && isDir(oldPath) {
		return fmt.Errorf("host-local's directory %s: %w", oldPath, err)
	}
	return nil
}

// Update implements [ipam.State].
func (s State) Update(verb ipam.Verb, network string, fn func(ipam.Tx) error) error {
	call := s.call(network)
	call.Kind = kind(verb)
	op := store.Op{Verb: string(verb), Creates: verb == ipam.VerbAdd}
	switch verb {
	case ipam.VerbAdd, ipam.VerbDel, ipam.VerbGC:
		op.Runtime, call.Runtime = true, true
		call.Enters = call.OldPath != ""
	}
	if call.Enters && !op.Creates { // the DEL of a pod that host-local gave its address may be the first call
		there, err := s.Store.Stat()
		if err != nil {
			return s.cniError(err)
		}
		op.Creates = !there && hostlocal.At(call.OldPath).HoldsSomething()
	}
	err := s.nested(network)
	switch {
	case err != nil && verb == ipam.VerbAdd:
		return s.cniError(err)
	case err != nil && op.Runtime && !s.knows(network): // no ADD has succeeded: what is held is host-local's
		return s.cniError(s.engine(network).UpdateOld(call, fn))
	case err != nil: // one has, with another configuration, and it is stored where its directory is
		call.OldPath, call.Enters, err = "", false, nil
	}
	switch call.Kind {
	case engine.KindAdd:
		err = s.admitFirst(network, false)
	case engine.KindDel:
		err = s.gone(call)
	}
	if err != nil {
		return s.cniError(err)
	}
	_, err = s.update(op, call, fn)
	if errors.Is(err, ipam.ErrNoSpace) && verb != ipam.VerbAdd && op.Creates && !s.Store.Exists() {
		return s.cniError(s.engine(network).UpdateOld(call, fn))
	}
	return err
}

// knows tells whether a network is stored, or may be.
func (s State) knows(network string) bool {
	known := false
	err := s.Store.Read(func(tx *store.Tx) error {
		known = tx.Network(network).Exists()
		return nil
	})
	return known || err != nil
}

// kind is what the engine has to know of a verb.
func kind(verb ipam.Verb) engine.Kind {
	switch verb {
	case ipam.VerbAdd:
		return engine.KindAdd
	case ipam.VerbDel:
		return engine.KindDel
	}
	return engine.KindOther
}

func (s State) update(op store.Op, call engine.Call, fn func(ipam.Tx) error) (engine.Step, error) {
	var step engine.Step
	var settled []backfill.Guess
	err := s.healing(call, func() error {
		var network *store.Network
		var accepted bool
		var known bool    // the network is stored already
		var missing error // of one that is not, why an ADD would be refused
		settles := func(tx ipam.Tx) ipam.Tx { return settling{tx, &settled, call.Network} }
		call.Due = func(tx ipam.Tx, changed func(netip.Addr) time.Time) error {
			if missing != nil || known && network.Whole() != nil {
				return nil // what is lost may be found again
			}
			return s.carryOut(network, settles(tx), changed)
		}
		e := s.engine(call.Network)
		e.Admit = func(c form.Contents) error {
			err := s.admit(call.Network, c, accepted)
			if call.Kind == engine.KindBackfill && errors.Is(err, store.ErrLost) {
				missing, err = err, nil
			}
			return err
		}
		work := e.Begin(call)
		defer work.Unlock()
		op.Committed = work.Committed
		op.Precheck = func(tx *store.Tx) error {
			return errors.Join(call.Precheck(schema1{tx.Network(call.Network), tx}), s.whole(tx, call))
		}
		err := s.Store.Update(op, func(tx *store.Tx) error {
			network, accepted = tx.Network(call.Network), tx.Accepted()
			settled = nil
			if known, missing = network.Exists(), nil; !known {
				missing = s.missing(tx, call)
			}
			if missing != nil && !errors.Is(missing, store.ErrLost) {
				return missing // nobody knows, and what is made now would be marked for good
			}
			err := work.Run(schema1{network, tx}, func(tx ipam.Tx) error {
				if call.Kind == engine.KindAdd || call.Kind == engine.KindDel {
					tx = settles(tx)
				}
				return fn(tx)
			})
			if err == nil && !known && network.Exists() {
				err = mark(tx, network, missing)
			}
			return err
		})
		err = work.Answer(err, errors.Is(err, store.ErrNoSpace))
		step = work.Step()
		return err
	})
	if err == nil {
		s.dropOthers(settled)
	}
	return step, s.cniError(err)
}

// missing is why an ADD would be refused for what was lost.
func (s State) missing(tx *store.Tx, call engine.Call) error {
	call.Kind = engine.KindAdd
	return s.whole(tx, call)
}

// mark notes of a network that has just become known whether that is all of it.
func mark(tx *store.Tx, network *store.Network, missing error) error {
	_, marked := tx.Lost() // as the store marks it by itself
	switch {
	case missing == nil:
		network.Found()
	case !marked:
		return network.Lose("a tombstone of this boot stood where nothing was stored")
	}
	return nil
}

// call is what all calls of a network have in common.
func (s State) call(network string) engine.Call {
	c := engine.Call{Network: network, OldPath: s.oldPath(network), Target: target(s.Config)}
	if s.Config != nil {
		c.Sets = s.Config.RangeSets
	}
	return c
}

func (s State) deadline() time.Time {
	if !s.Deadline.IsZero() {
		return s.Deadline
	}
	return time.Now().Add(s.Store.LockTimeout())
}

func (s State) engine(network string) *engine.Engine {
	w := &witness{network: network, namespaces: s.Namespaces, warn: s.Warn}
	if s.Config != nil {
		w.cache = cnicache.Cache{Dirs: s.Config.CNICacheDirs}
	}
	return &engine.Engine{
		OpenOld:   func(path string) form.Old { return unwatched{hostlocal.At(path), s.Store.Outside} },
		Stale:     s.Stale,
		Witness:   w,
		Outlives:  s.outlives,
		Another:   s.another,
		Admit:     func(c form.Contents) error { return s.admit(network, c, false) },
		Tombstone: form.Tombstone{Network: network, DataDir: s.Store.Dir(), BootID: s.Store.BootID()},
		Deadline:  s.deadline(),
		Warn:      s.Warn,
	}
}

// ViewIn calls fn with what is stored of a network and what its old form says.
// compares adds the differences, which takes reading all of both.
func (s State) ViewIn(tx *store.Tx, network string, compares bool, fn func(engine.View) error) error {
	call := s.call(network)
	call.Compares = compares
	return s.engine(network).View(schema1{tx.Network(network), tx}, call, fn)
}
