package nodestatus

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bolt-local/bolt-local/internal/cmdline"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// Snapshot is what a Reader copies out of the checkpoint, and out of
// host-local's directories as far as the phases read these.
type Snapshot struct {
	Path   string // of the checkpoint, which is in the data directory
	Exists bool
	Size   int64 // of the file in bytes
	// Sources are those that a repair would have to be told.
	Sources cmdline.Sources
	Format  store.Format
	Epoch   uint64            // the number of this boot
	Boots   map[uint64]string // boot ids by epoch number
	// Stored names all networks that are stored, whichever were asked for.
	Stored []string
	// Networks are those that were asked for, in the order of their names.
	Networks []Network
	// Problem is why the checkpoint may not be believed or is not complete.
	Problem error
	// Unwritable is why an ADD could not write, where LoadVerified has looked.
	Unwritable error
	// Irregular: what is in its place is no file, and cannot be repaired.
	Irregular bool
	// Damages are former ones that nobody has acknowledged, the oldest first.
	Damages []store.Damage
	// Lost is why networks may be missing, "" where none is.
	Lost string
	// Deferred counts the DELs that wait, where LoadVerified has looked.
	Deferred int
}

// Network is what is stored of one network, as the next call would find it.
type Network struct {
	Name        string
	Ranges      []record.RangeSet
	Allocations []record.Allocation // in the order of their addresses
	Migration   Migration
	// Partial: looking through the directory failed, and what is here is what can
	// be read of the checkpoint itself.
	Partial bool
	// Problem is what is wrong with the directory.
	Problem error
	// Unwritable is why an ADD could not write the directory, where LoadVerified
	// has looked.
	Unwritable error
	// Lost is why allocations may be missing, "" where none is.
	Lost string
}

// Unseen: what the network holds is in the directory alone, and cannot be seen.
func (n Network) Unseen() bool {
	return (n.Partial || n.Problem != nil) && n.Migration.inDirectoryAlone()
}

// CheckpointErr is what is wrong with the checkpoint, in whatever network.
func (snap Snapshot) CheckpointErr() error {
	if snap.damaged() {
		return fmt.Errorf("%w; see `%s`", snap.Problem, snap.Sources.Command(snap.dataDir(), "repair", "--dry-run"))
	}
	return snap.Problem
}

// Err is all that is wrong with what was copied, host-local's directories included.
func (snap Snapshot) Err() error {
	err := snap.CheckpointErr()
	for _, n := range snap.Networks {
		if n.Problem != nil {
			err = errors.Join(err, fmt.Errorf("network %s: %w", n.Name, n.Problem))
		}
	}
	return err
}

// damaged tells whether a call that may write, or `repair`, mends the problem.
func (snap Snapshot) damaged() bool {
	return errors.Is(snap.Problem, store.ErrDamaged) && !snap.Irregular
}

func (snap Snapshot) dataDir() string { return filepath.Dir(snap.Path) }

// searched: there was damage, and all that it has left was taken over.
func (snap Snapshot) searched() bool {
	return len(snap.Damages) > 0 && !slices.ContainsFunc(snap.Damages, store.Damage.Unsearched)
}
