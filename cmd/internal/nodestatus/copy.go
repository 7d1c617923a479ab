package nodestatus

import (
	"errors"
	"fmt"

	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// copier copies networks into a snapshot within one transaction.
type copier struct {
	reader   Reader // with the deadline of the wait for host-local's locks
	tx       *store.Tx
	snap     *Snapshot
	compares bool
}

// network copies what the next call would find: the form that the phase reads,
// and in it what others have changed since.
func (c *copier) network(name string) {
	n := Network{Name: name, Lost: reason(c.tx.Network(name).Lost())}
	var err error
	n.Ranges, err = c.tx.Network(name).Ranges()
	c.snap.Problem = errors.Join(c.snap.Problem, err)

	err = c.reader.State.ViewIn(c.tx, name, c.compares, func(v engine.View) error {
		n.Migration = c.reader.newMigration(name, v, c.snap.Epoch)
		n.Problem = c.reader.inTheWay(name, v)
		return v.Each(func(a record.Allocation) error {
			n.Allocations = append(n.Allocations, a)
			return nil
		})
	})
	if err != nil {
		c.stored(&n, err)
	}
	for _, a := range n.Allocations {
		if _, known := c.snap.Boots[a.Epoch]; !known {
			c.snap.Boots[a.Epoch] = c.tx.BootID(a.Epoch)
		}
	}
	c.snap.Networks = append(c.snap.Networks, n)
}

// stored copies what can be read of the checkpoint itself, because looking
// through the directory failed with why.
func (c *copier) stored(n *Network, why error) {
	stored := c.tx.Network(n.Name)
	if n.Migration.Phase == "" {
		n.Migration = storedMigration(stored, c.snap.Epoch)
		n.Migration.HostLocalDataDir = parentToName(c.reader.State.Store.Dir(), n.Migration.Directory)
	}
	n.Allocations, n.Partial = nil, true
	var unreadable error // the first; the others are counted
	more := 0
	err := stored.EachReadable(func(a record.Allocation, err error) error {
		switch {
		case err == nil:
			n.Allocations = append(n.Allocations, a)
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
		c.snap.Problem = errors.Join(c.snap.Problem, why)
	default:
		n.Problem = why
	}
	if more > 0 {
		unreadable = fmt.Errorf("%w, and %s of this network", unreadable, wording.Counted(more, "other record", "other records"))
	}
	c.snap.Problem = errors.Join(c.snap.Problem, unreadable, err)
}
