package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// copier copies networks into a snapshot within one transaction.
type copier struct {
	app      *app
	tx       *store.Tx
	snap     *snapshot
	deadline time.Time // of the wait for the locks of host-local's directories
	compares bool
}

// network copies what the next call would find: the form that the phase reads,
// and in it what others have changed since.
func (c *copier) network(name string) {
	n := network{name: name, lost: reason(c.tx.Network(name).Lost())}
	var err error
	n.ranges, err = c.tx.Network(name).Ranges()
	c.snap.problem = errors.Join(c.snap.problem, err)

	state := c.app.state()
	state.Deadline = c.deadline // a lock that is free is had after it, too
	err = state.ViewIn(c.tx, name, c.compares, func(v engine.View) error {
		n.migration = c.app.newMigration(name, v, c.snap.epoch)
		n.problem = c.app.inTheWay(name, v)
		return v.Each(func(a record.Allocation) error {
			n.allocations = append(n.allocations, a)
			return nil
		})
	})
	if err != nil {
		c.stored(&n, err)
	}
	for _, a := range n.allocations {
		if _, known := c.snap.boots[a.Epoch]; !known {
			c.snap.boots[a.Epoch] = c.tx.BootID(a.Epoch)
		}
	}
	c.snap.networks = append(c.snap.networks, n)
}

// stored copies what can be read of the checkpoint itself, because looking
// through the directory failed with why.
func (c *copier) stored(n *network, why error) {
	stored := c.tx.Network(n.name)
	if n.migration.phase == "" {
		n.migration = storedMigration(stored, c.snap.epoch)
	}
	n.allocations, n.partial = nil, true
	var unreadable error // the first; the others are counted
	more := 0
	err := stored.EachReadable(func(a record.Allocation, err error) error {
		switch {
		case err == nil:
			n.allocations = append(n.allocations, a)
		case unreadable == nil:
			unreadable = err
		default:
			more++
		}
		return nil
	})
	switch {
	case unreadable != nil && unreadable.Error() == why.Error(): // the same record
	case errors.Is(why, store.ErrDamaged), errors.Is(why, engine.ErrPhase):
		c.snap.problem = errors.Join(c.snap.problem, why)
	default:
		n.problem = why
	}
	if more > 0 {
		unreadable = fmt.Errorf("%w, and %s of this network", unreadable, counted(more, "other record", "other records"))
	}
	c.snap.problem = errors.Join(c.snap.problem, unreadable, err)
}
