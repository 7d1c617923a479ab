package migrate

import (
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

// Advance goes one phase forward, by hand, and returns the phase that holds
// then. force goes to contract although host-local's own pods are there. The
// error wraps engine.ErrStep where a condition is not met, or where the
// configuration of the last ADD names another target.
func (s State) Advance(network string, force bool) (engine.Phase, error) {
	return s.stepByHand(network, 1, force)
}

// Rollback goes one phase back; see Advance. force goes back although the
// configuration of the last ADD names another target: a node that is quiet, or
// has host-local's type again, has no ADD to tell otherwise.
func (s State) Rollback(network string, force bool) (engine.Phase, error) {
	return s.stepByHand(network, -1, force)
}

func (s State) stepByHand(network string, by int, force bool) (engine.Phase, error) {
	call := s.call(network)
	call.By, call.Force = by, force
	if err := s.update(store.Op{Verb: "migrate"}, call, func(ipam.Tx) error { return nil }); err != nil {
		return "", err
	}
	// Without a checkpoint Update has nothing to do.
	var phase engine.Phase
	err := s.Store.Read(func(tx *store.Tx) error {
		return s.ViewIn(tx, network, false, func(v engine.View) error {
			if phase = v.Progress.Phase; !v.Known {
				return engine.ErrUnknown
			}
			return nil
		})
	})
	return phase, cniError(err)
}
