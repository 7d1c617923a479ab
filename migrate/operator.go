package migrate

import (
	"fmt"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

// Advance goes one phase forward, by hand. force goes to contract although
// host-local's own pods are there. The error wraps engine.ErrStep where a
// condition is not met, or where the configuration of the last ADD names another
// target. A swap that cannot be done is told by State.Warn, and by the Step.
func (s State) Advance(network string, force bool) (engine.Step, error) {
	return s.stepByHand(network, engine.KindAdvance, force)
}

// Rollback goes one phase back; see Advance. force goes back although the
// configuration of the last ADD names another target: a node that is quiet, or
// has host-local's type again, has no ADD to tell otherwise.
func (s State) Rollback(network string, force bool) (engine.Step, error) {
	return s.stepByHand(network, engine.KindRollback, force)
}

func (s State) stepByHand(network string, kind engine.Kind, force bool) (engine.Step, error) {
	call := s.call(network)
	call.Kind, call.Force = kind, force
	step, err := s.update(store.Op{Verb: "migrate"}, call, func(ipam.Tx) error { return nil })
	if err == nil && step.From == "" { // without a checkpoint there was nothing to do
		err = s.cniError(fmt.Errorf("network %s: %w", network, engine.ErrUnknown))
	}
	return step, err
}
