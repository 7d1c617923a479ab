package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// snapshot is what a reading command copies out of the checkpoint, and out of
// host-local's directories as far as the phases read these.
type snapshot struct {
	path   string
	exists bool
	size   int64 // of the file in bytes
	format store.Format
	epoch  uint64            // the number of this boot
	boots  map[uint64]string // boot ids by epoch number
	// networks are those that were asked for, in the order of their names.
	networks []network
	// problem is why the checkpoint may not be believed or is not complete.
	problem error
	// irregular: what is in its place is no file, and cannot be repaired.
	irregular bool
	// damages are former ones that nobody has acknowledged, the oldest first.
	damages []store.Damage
	// lost is why networks may be missing, "" where none is.
	lost string
	// deferred counts the DELs that wait, where loadVerified has looked.
	deferred int
}

type network struct {
	name        string
	ranges      []record.RangeSet
	allocations []record.Allocation // in the order of their addresses
	migration   migration
	// partial: looking through the directory failed, and what is here is what can
	// be read of the checkpoint itself.
	partial bool
	// problem is what is wrong with the directory.
	problem error
	// lost is why allocations may be missing, "" where none is.
	lost string
}

// unseen: what the network holds is in the directory alone, and cannot be seen.
func (n network) unseen() bool {
	return (n.partial || n.problem != nil) && n.migration.inDirectoryAlone()
}

// damaged tells whether a call that may write, or `repair`, mends the problem.
func (snap snapshot) damaged() bool {
	return errors.Is(snap.problem, store.ErrDamaged) && !snap.irregular
}

// err is all that is wrong with what was copied.
func (snap snapshot) err() error {
	err := snap.problem
	if snap.damaged() {
		err = fmt.Errorf("%w; see `%s`", err, ownCommand(filepath.Dir(snap.path), "repair", "--dry-run"))
	}
	for _, n := range snap.networks {
		if n.problem != nil {
			err = errors.Join(err, fmt.Errorf("network %s: %w", n.name, n.problem))
		}
	}
	return err
}

// load copies all networks, or one. Where the checkpoint cannot be read at all,
// that is an error; what is wrong with its content is the snapshot's.
func (a *app) load(only string) (snapshot, error) {
	snap, err := a.look(only, false)
	a.warnUnstored(only, snap, err)
	return snap, err
}

// loadVerified is load for whoever wants to know whether all is well: it holds
// both indexes of the checkpoint, and the checkpoint and host-local's
// directories, against each other.
func (a *app) loadVerified(only string) (snapshot, error) {
	snap, err := a.look(only, true)
	a.warnUnstored(only, snap, err)
	snap.deferred = a.store(ipam.ReadTimeout).CountDeferred()
	return snap, err
}

func (a *app) warnUnstored(only string, snap snapshot, err error) {
	if err == nil && only != "" && len(snap.networks) == 0 && snap.problem == nil {
		a.warn(notStored(only, snap))
	}
}

func notStored(network string, snap snapshot) string {
	return fmt.Sprintf("network %s is not stored in %s", network, snap.path)
}

// look waits ipam.ReadTimeout at most for all locks together.
func (a *app) look(only string, verifies bool) (snapshot, error) {
	deadline := time.Now().Add(ipam.ReadTimeout)
	st := a.store(ipam.ReadTimeout)
	snap := snapshot{path: st.Path(), boots: map[uint64]string{}}
	err := st.ReadAny(verifies, func(tx *store.Tx) error {
		snap.exists, snap.format, snap.epoch, snap.problem = tx.Exists(), tx.Format(), tx.Epoch(), tx.Problem()
		snap.damages = tx.Damages()
		snap.lost = reason(tx.Lost())
		for _, name := range tx.Networks() {
			if only == "" || only == name {
				c := copier{app: a, tx: tx, snap: &snap, deadline: deadline, compares: verifies}
				c.network(name)
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
	if info, err := os.Lstat(snap.path); err == nil {
		snap.exists, snap.size, snap.irregular = true, info.Size(), !info.Mode().IsRegular()
	} else if snap.problem == nil {
		snap.problem = a.state().Lost()
	}
	return snap, nil
}

// reason is why allocations may be missing, "" where none is.
func reason(l store.Loss, lost bool) string {
	if !lost {
		return ""
	}
	return orElse(l.Reason, "allocations are missing")
}
