package cli

import (
	"fmt"
	"slices"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/ipam"
)

// reader waits ipam.ReadTimeout at most for all locks together.
func (a *app) reader() nodestatus.Reader {
	state := a.state()
	state.Store = a.store(ipam.ReadTimeout)
	return nodestatus.Reader{State: state}
}

// load copies all networks, or one, which has to be stored. It warns where there
// is no checkpoint: nothing in the wrong directory looks like nothing that is held.
func (a *app) load(only string) (nodestatus.Snapshot, error) {
	snap, err := a.reader().Load(only)
	if err != nil {
		return snap, err
	}
	if only == "" && absent(snap) {
		a.warn(wording.Printable(wording.NoCheckpoint(a.dataDir)))
	}
	return snap, a.unstored(only, snap)
}

// absent tells whether there is no checkpoint, and none was lost.
func absent(snap nodestatus.Snapshot) bool { return !snap.Exists && snap.Problem == nil }

// unstored is an error where the network that was asked for is not stored.
func (a *app) unstored(network string, snap nodestatus.Snapshot) error {
	switch {
	case network == "" || snap.Problem != nil || slices.Contains(snap.Stored, network):
		return nil
	case absent(snap):
		return fmt.Errorf("network %s is not stored: %s", network, wording.NoCheckpoint(a.dataDir))
	}
	return wording.NotStored(network, snap.Path, snap.Stored)
}
