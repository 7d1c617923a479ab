package nodestatus

import (
	"cmp"
	"errors"
	"os"
	"time"

	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/store"
)

// Reader copies what a node knows. It changes nothing and keeps nothing open,
// and lets go of all locks before it returns.
type Reader struct {
	// State is that of an operator's command, without a configuration. The
	// LockTimeout of its Store bounds the wait for all locks of one copy together.
	State migrate.State
}

// Load copies all networks for "", or one. Where the checkpoint cannot be read
// at all, that is an error; what is wrong with its content is the snapshot's.
func (r Reader) Load(network string) (Snapshot, error) { return r.load(network, false) }

// LoadCompared is Load that holds both indexes of the checkpoint, and the
// checkpoint and host-local's directories, against each other.
func (r Reader) LoadCompared(network string) (Snapshot, error) { return r.load(network, true) }

// LoadVerified is LoadCompared for whoever wants to know whether all is well: it
// counts the DELs that wait, and asks whether an ADD could write, too.
func (r Reader) LoadVerified(network string) (Snapshot, error) {
	snap, err := r.load(network, true)
	snap.Unwritable = r.State.Store.Writable()
	for i, n := range snap.Networks {
		snap.Networks[i].Unwritable = migrate.OldWritable(n.Migration.Directory)
	}
	snap.Deferred = r.State.Store.CountDeferred()
	return snap, err
}

func (r Reader) load(only string, compares bool) (Snapshot, error) {
	st := r.State.Store
	// A lock that is free is had after the deadline, too.
	r.State.Deadline = time.Now().Add(st.LockTimeout())
	snap := Snapshot{Path: st.Path(), Sources: r.State.Sources(), Boots: map[uint64]string{}}
	err := st.ReadAny(compares, func(tx *store.Tx) error {
		snap.Exists, snap.Format, snap.Epoch, snap.Problem = tx.Exists(), tx.Format(), tx.Epoch(), tx.Problem()
		snap.Damages = tx.Damages()
		snap.Lost = reason(tx.Lost())
		snap.Stored = tx.Networks()
		for _, name := range snap.Stored {
			if only == "" || only == name {
				c := copier{reader: r, tx: tx, snap: &snap, compares: compares}
				c.network(name)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrFormat):
		snap.Problem = errors.Join(snap.Problem, err)
	case err != nil:
		return Snapshot{}, err
	}
	if info, err := os.Lstat(snap.Path); err == nil {
		snap.Exists, snap.Size, snap.Irregular = true, info.Size(), !info.Mode().IsRegular()
	} else if snap.Problem == nil {
		snap.Problem = r.State.Lost()
	}
	return snap, nil
}

// reason is why allocations may be missing, "" where none is.
func reason(l store.Loss, lost bool) string {
	if !lost {
		return ""
	}
	return cmp.Or(l.Reason, "allocations are missing")
}
