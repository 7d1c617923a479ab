package migrate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/migrate/hostlocal"
	"github.com/bolt-local/bolt-local/store"
)

// healing runs a call and, where it finds the checkpoint damaged, once more on
// the healed one. A call that has failed so has changed nothing.
func (s State) healing(call engine.Call, run func() error) error {
	err := run()
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	if healErr := s.Store.Heal(s.heal(call)); healErr != nil {
		return healErr
	}
	return run()
}

// heal is what the call's network knows beside the checkpoint.
func (s State) heal(call engine.Call) store.Heal {
	h := store.Heal{Deadline: s.deadline()}
	if call.OldPath == "" {
		return h
	}
	s.LegacyParents = append(s.LegacyParents, filepath.Dir(call.OldPath))
	for _, t := range s.tombstones() {
		h.Boots = append(h.Boots, t.BootID)
	}
	c, err := hostlocal.At(call.OldPath).Look()
	if err != nil {
		h.Unseen = fmt.Errorf("host-local's directory: %w", err)
		return h
	}
	h.Network = call.Network
	h.Complete = func(migration []byte) bool { return complete(migration, call, c) }
	return h
}

// Heal heals the checkpoint if it is damaged, as a call in network would, "" for
// one that has no network.
func (s State) Heal(network string) error {
	return s.cniError(s.healing(s.call(network), func() error {
		return s.Store.Update(store.Op{Verb: "heal"}, func(*store.Tx) error { return nil })
	}))
}

// gone is for a call where there is no checkpoint: that a tombstone of this boot
// stands tells that there was one, and that a repair may bring back what a CHECK
// asks for, or a DEL is to free.
func (s State) gone(call engine.Call) error {
	if call.OldPath == "" {
		return nil
	}
	if there, err := s.Store.Stat(); there || err != nil {
		return err
	}
	if !s.shutInThisBoot(call.OldPath, call.Network) || s.madeMeanwhile() || s.Store.Lost() != nil {
		return nil
	}
	return s.lostBy(call.OldPath)
}

// madeMeanwhile is asked, without the lock, once a tombstone was seen of a
// checkpoint that was not there before: it may be of another first call, which
// has made the checkpoint before the tombstone.
func (s State) madeMeanwhile() bool { return s.Store.Exists() }

// lostBy tells what a tombstone says of a checkpoint that is gone.
func (s State) lostBy(path string) error {
	return fmt.Errorf("%w: %s says that this boot has allocations in %s, which is gone", store.ErrLost, path, s.Store.Path())
}

// whole refuses a call that needs what was lost with a damaged checkpoint. A
// network of which nothing is stored may come anew from a complete older form.
func (s State) whole(tx *store.Tx, call engine.Call) error {
	n := tx.Network(call.Network)
	err := n.Whole()
	if err == nil {
		err = s.shutOut(tx, call)
	}
	switch {
	case err == nil, call.Kind != engine.KindAdd && (call.Kind != engine.KindDel || n.Exists()):
		return nil
	case !n.Exists() && call.OldPath != "":
		c, lookErr := hostlocal.At(call.OldPath).Look()
		if lookErr != nil {
			return fmt.Errorf("host-local's directory: %w", lookErr)
		}
		l, _ := n.Lost()
		if !slices.Contains(l.Contested, call.Network) && complete(l.Migrations[call.Network], call, c) {
			return nil
		}
	}
	return err
}

// shutOut is that a tombstone of this boot tells of a network that is not stored: it
// is older than the checkpoint, and what it stands for was lost.
func (s State) shutOut(tx *store.Tx, call engine.Call) error {
	if tx.Network(call.Network).Exists() || tx.Accepted() {
		return nil
	}
	path := call.OldPath
	if path == "" {
		for p, t := range s.tombstones() {
			if t.Network == call.Network {
				path = p
			}
		}
	}
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if !s.shutInThisBoot(path, call.Network) {
		return nil
	}
	return lostNetwork(path, call.Network, s.Store.Path())
}

// shutInThisBoot tells whether the network's tombstone stands at path, and is of this
// boot.
func (s State) shutInThisBoot(path, network string) bool {
	c, err := hostlocal.At(path).Look()
	return err == nil && c.Shut != nil && c.Shut.OfBoot(s.Store.BootID()) && s.Owns(*c.Shut, network)
}

// lostNetwork tells what a tombstone says of a network that a checkpoint does not have.
func lostNetwork(path, network, checkpoint string) error {
	return fmt.Errorf("%w: %s says that this boot has allocations of network %s in %s", store.ErrLost, path, network, checkpoint)
}

// complete tells whether what the call's older form says is all of its network,
// of which doc is the document, nil where nobody knows it. A directory in another
// place is not the network's.
func complete(doc []byte, call engine.Call, c form.Contents) bool {
	return (doc == nil || engine.OldPath(doc) == call.OldPath) && engine.Complete(doc, c)
}
