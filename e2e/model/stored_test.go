package model

import (
	"encoding/json"
	"maps"
	"net/netip"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// state is what the checkpoint holds of the network.
type state struct {
	epoch uint64 // of the newest boot that has one
	boot  int    // 0, or the boot whose number that is
	boots []int  // all that have one

	known          bool
	phase, pending engine.Phase
	target         engine.Phase // of the last ADD
	place          string       // of the directory after the last write
	forgot         uint64       // the epoch in which files of earlier ones went
	held           holdings
	cursors        map[int]netip.Addr // by the index of the range set
}

func (s state) clone() state {
	s.held, s.cursors = s.held.clone(), maps.Clone(s.cursors)
	return s
}

// now is the number of the running boot.
func (s state) now(boot int) uint64 {
	if s.boot == boot {
		return s.epoch
	}
	return s.epoch + 1
}

// seen is what a reading call is shown.
type seen struct {
	phase       engine.Phase
	known       bool
	changed     bool
	differences []string
	held        holdings
}

// read returns what is stored, without and with what the directory says beside
// it.
func (n *node) read(target engine.Phase) (s state, v seen, err error) {
	cfg, err := ipam.ParseConfig(n.json(boltLocal, conf{target: target}), "")
	if err != nil {
		return s, v, err
	}
	err = n.store().Read(func(tx *store.Tx) error {
		if err := tx.Verify(); err != nil {
			return err
		}
		if s, err = n.stored(tx, cfg); err != nil {
			return err
		}
		return n.state(cfg).ViewIn(tx, network, true, func(view engine.View) error {
			v = seen{phase: view.Progress.Phase, known: view.Known, changed: view.Changed, differences: view.Differences}
			v.held, err = holdingsOf(view)
			return err
		})
	})
	return s, v, err
}

func (n *node) stored(tx *store.Tx, cfg *ipam.Config) (state, error) {
	s := state{epoch: tx.Epoch(), held: holdings{}, cursors: map[int]netip.Addr{}}
	if tx.BootID(s.epoch) == "" && s.epoch > 0 {
		s.epoch-- // the running boot has none yet
	}
	for boot := 1; boot <= n.boot; boot++ {
		for epoch := range s.epoch {
			if tx.BootID(epoch+1) == bootID(boot) {
				s.boots = append(s.boots, boot)
			}
		}
	}
	if len(s.boots) > 0 {
		s.boot = s.boots[len(s.boots)-1]
	}
	stored := tx.Network(network)
	doc, err := stored.Migration()
	if err != nil {
		return s, err
	}
	if s.known = doc != nil; s.known {
		var progress struct {
			Phase, Pending, Target engine.Phase
			Place                  string
			Epoch                  uint64
		}
		if err := json.Unmarshal(doc, &progress); err != nil {
			return s, err
		}
		s.phase, s.pending, s.target = progress.Phase, progress.Pending, progress.Target
		s.place, s.forgot = progress.Place, progress.Epoch
	}
	for i, set := range cfg.RangeSets {
		if addr := stored.Cursor(set); addr.IsValid() {
			s.cursors[i] = addr
		}
	}
	s.held, err = holdingsOf(stored)
	return s, err
}

func holdingsOf(r interface {
	Each(func(record.Allocation) error) error
}) (holdings, error) {
	held := holdings{}
	err := r.Each(func(a record.Allocation) error {
		all := allocation{epoch: a.Epoch}
		for _, h := range a.Holders {
			all.holders = append(all.holders, holding{h.Attachment, h.Origin == record.OriginHostLocal, h.NetNS, h.Mark})
		}
		held[a.Addr] = all
		return nil
	})
	return held, err
}
