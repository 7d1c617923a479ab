package migrate

import (
	"errors"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
)

// State is the ipam.State of a node.
type State struct {
	Store *store.Store
	// LegacyParent is the directory in which host-local keeps a directory for
	// each network; "" for what gives out no addresses.
	LegacyParent string
}

var _ ipam.State = State{}

// View implements [ipam.State].
func (s State) View(network string, fn func(ipam.Reader) error) error {
	return cniError(s.Store.Read(func(tx *store.Tx) error { return fn(tx.Network(network)) }))
}

// Update implements [ipam.State].
func (s State) Update(verb ipam.Verb, network string, fn func(ipam.Tx) error) error {
	op := store.Op{Verb: string(verb), Creates: verb == ipam.VerbAdd}
	switch verb {
	case ipam.VerbAdd, ipam.VerbDel, ipam.VerbGC:
		op.Runtime = true
	}
	return cniError(s.Store.Update(op, func(tx *store.Tx) error {
		n := tx.Network(network)
		if verb == ipam.VerbAdd {
			if err := s.refuseReservations(network); err != nil {
				return err
			}
		}
		return fn(n)
	}))
}

// Writable implements [ipam.State].
func (s State) Writable(network string) error {
	if err := s.Store.Writable(); err != nil {
		return cniError(err)
	}
	return s.refuseReservations(network)
}

// refuseReservations fails where host-local has reservations of a network. With
// an ipam.dataDir that host-local was not given, its default directory counts
// too.
func (s State) refuseReservations(network string) error {
	if s.LegacyParent == "" {
		return nil
	}
	for _, parent := range []string{s.LegacyParent, ipam.DefaultLegacyParent} {
		if err := refuseReservations(filepath.Join(parent, network)); err != nil {
			return err
		}
	}
	return nil
}

// cniError gives the store's errors their CNI codes. All others that have one
// pass unchanged.
func cniError(err error) error {
	var known *types.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrLocked):
		return ipam.Errorf(ipam.CodeTryAgain, "%w", err)
	case errors.Is(err, store.ErrDamaged):
		return ipam.Errorf(ipam.CodeDamaged, "%w; nothing was changed: keep a copy of the data directory, drain the node's pods, then remove it", err)
	case errors.Is(err, store.ErrFormat):
		return ipam.Errorf(ipam.CodeForeignFormat, "%w", err)
	case errors.Is(err, store.ErrNoSpace):
		return ipam.Errorf(ipam.CodeIO, "%w: %w", ipam.ErrNoSpace, err)
	case errors.As(err, &known) && known.Code != types.ErrInternal:
		return err
	}
	return ipam.Errorf(ipam.CodeIO, "%w", err)
}
