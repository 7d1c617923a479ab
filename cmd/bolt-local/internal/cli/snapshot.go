package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// snapshot is what a reading command copies out of the checkpoint.
type snapshot struct {
	path   string
	exists bool
	size   int64 // of the file in bytes
	format store.Format
	epoch  uint64            // the number of this boot
	boots  map[uint64]string // boot ids by epoch number
	// networks are those that were asked for, in the order of their names.
	networks []network
	// problem is why the content may not be believed or is not complete.
	problem error
}

type network struct {
	name        string
	ranges      []record.RangeSet
	allocations []record.Allocation // in the order of their addresses
}

// load copies the checkpoint, or one network of it. Where it cannot be read at
// all, that is an error; what is wrong with its content is the snapshot's
// problem.
func (a *app) load(only string) (snapshot, error) {
	return a.loadChecked(only, func(*store.Tx) error { return nil })
}

// loadVerified is load for whoever wants to know whether all is well: it holds
// both indexes against each other.
func (a *app) loadVerified(only string) (snapshot, error) {
	return a.loadChecked(only, (*store.Tx).Verify)
}

func (a *app) loadChecked(only string, check func(*store.Tx) error) (snapshot, error) {
	st := a.store(ipam.ReadTimeout)
	snap := snapshot{path: st.Path(), boots: map[uint64]string{}}
	err := st.ReadAny(func(tx *store.Tx) error {
		snap.exists, snap.format, snap.epoch, snap.problem = tx.Exists(), tx.Format(), tx.Epoch(), tx.Problem()
		if snap.problem == nil {
			snap.problem = check(tx)
		}
		for _, name := range tx.Networks() {
			if only == "" || only == name {
				snap.copyNetwork(tx, name)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrFormat):
		snap.problem = errors.Join(snap.problem, err)
	case err != nil:
		return snapshot{}, err
	}
	if info, err := os.Stat(snap.path); err == nil {
		snap.exists, snap.size = true, info.Size()
	}
	if only != "" && len(snap.networks) == 0 && snap.problem == nil {
		a.warn(fmt.Sprintf("network %s is not stored in %s", only, snap.path))
	}
	return snap, nil
}

func (snap *snapshot) copyNetwork(tx *store.Tx, name string) {
	n := tx.Network(name)
	ranges, err := n.Ranges()
	snap.problem = errors.Join(snap.problem, err)
	c := network{name: name, ranges: ranges}
	var unreadable error // the first; the others are counted
	more := 0
	err = n.EachReadable(func(a record.Allocation, err error) error {
		switch {
		case err == nil:
			c.allocations = append(c.allocations, a)
			if _, known := snap.boots[a.Epoch]; !known {
				snap.boots[a.Epoch] = tx.BootID(a.Epoch)
			}
		case unreadable == nil:
			unreadable = err
		default:
			more++
		}
		return nil
	})
	if more > 0 {
		unreadable = fmt.Errorf("%w, and %s of this network", unreadable, counted(more, "other record", "other records"))
	}
	snap.problem = errors.Join(snap.problem, unreadable, err)
	snap.networks = append(snap.networks, c)
}
