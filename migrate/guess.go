package migrate

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/backfill"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// settling notices the guesses that an ADD or a DEL settles: it makes one
// certain, or frees it. What the same container holds in other networks by the
// same guess is void then.
type settling struct {
	ipam.Tx
	settled *[]backfill.Guess // Network is the one that has the address
	network string
}

// Put implements [ipam.Tx].
func (s settling) Put(a record.Allocation) error {
	if err := s.note(a); err != nil {
		return err
	}
	return s.Tx.Put(a)
}

// Delete implements [ipam.Tx].
func (s settling) Delete(addr netip.Addr) error {
	if err := s.note(record.Allocation{Addr: addr}); err != nil {
		return err
	}
	return s.Tx.Delete(addr)
}

// note looks at what becomes of the guesses for an address.
func (s settling) note(now record.Allocation) error {
	was, held, err := s.Tx.Get(now.Addr)
	if err != nil || !held {
		return err
	}
	for _, h := range was.Holders {
		still := slices.ContainsFunc(now.Holders, func(n record.Holder) bool { return n.ContainerID == h.ContainerID && n.Guessed() })
		if h.Guessed() && !still {
			*s.settled = append(*s.settled, backfill.Guess{Network: s.network, Addr: now.Addr, ContainerID: h.ContainerID})
		}
	}
	return nil
}

// dropOthers drops the guesses that are void. The call is done: what cannot be
// dropped now stays until GC, or the next boot.
func (s State) dropOthers(settled []backfill.Guess) {
	if len(settled) == 0 {
		return
	}
	var void []backfill.Guess
	err := s.Store.Read(func(tx *store.Tx) error {
		void = nil
		for _, g := range settled {
			for _, other := range tx.Networks() {
				a, _, err := tx.Network(other).Get(g.Addr)
				if err != nil {
					return err
				}
				if other != g.Network && a.Guesses(g.ContainerID) {
					void = append(void, backfill.Guess{Network: other, Addr: g.Addr, ContainerID: g.ContainerID})
				}
			}
		}
		return nil
	})
	for _, g := range void {
		err = errors.Join(err, s.dropGuess(g))
	}
	if err != nil {
		s.Warn(fmt.Sprintf("what was guessed of the same container in other networks stays: %v", err))
	}
}

// dropGuess drops a guess, where there is such.
func (s State) dropGuess(g backfill.Guess) error {
	_, err := s.update(store.Op{Verb: "backfill"}, engine.Call{Network: g.Network}, func(tx ipam.Tx) error {
		a, held, err := tx.Get(g.Addr)
		if err != nil || !held {
			return err
		}
		rest := a.Without(func(h record.Holder) bool { return h.ContainerID == g.ContainerID && h.Guessed() })
		if len(rest.Holders) == len(a.Holders) {
			return nil
		}
		return ipam.Settle(tx, rest)
	})
	if err != nil {
		return fmt.Errorf("network %s: dropping the guess that container %s holds %s: %w", g.Network, g.ContainerID, g.Addr, err)
	}
	return nil
}
