package cli

import (
	"fmt"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/ipam"
)

// reader waits ipam.ReadTimeout at most for all locks together.
func (a *app) reader() nodestatus.Reader {
	state := a.state()
	state.Store = a.store(ipam.ReadTimeout)
	return nodestatus.Reader{State: state}
}

// load copies all networks, or one, and warns where that one is not stored.
func (a *app) load(only string) (nodestatus.Snapshot, error) {
	snap, err := a.reader().Load(only)
	a.warnUnstored(only, snap, err)
	return snap, err
}

// loadVerified is load for whoever wants to know whether all is well.
func (a *app) loadVerified(only string) (nodestatus.Snapshot, error) {
	snap, err := a.reader().LoadVerified(only)
	a.warnUnstored(only, snap, err)
	return snap, err
}

func (a *app) warnUnstored(only string, snap nodestatus.Snapshot, err error) {
	if err == nil && only != "" && len(snap.Networks) == 0 && snap.Problem == nil {
		a.warn(notStored(only, snap))
	}
}

func notStored(network string, snap nodestatus.Snapshot) string {
	return fmt.Sprintf("network %s is not stored in %s", network, snap.Path)
}
