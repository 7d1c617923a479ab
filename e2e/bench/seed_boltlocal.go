package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/ipam/netns"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
	"golang.org/x/sys/unix"
)

// batch is the number of allocations in a transaction. More in one are slower:
// bbolt keeps the keys of a leaf in a slice until it splits the leaf at commit.
const batch = 1_000

// state is what a call with the plugin's configuration works on.
func (p plugin) state() (migrate.State, error) {
	cfg, err := ipam.ParseConfig([]byte(p.config()), "")
	if err != nil {
		return migrate.State{}, err
	}
	verbs := ipam.Plugin{Namespaces: &netns.System{}}
	return migrate.State{
		Store:      store.New(p.dataDir, store.Options{}),
		Config:     cfg,
		Namespaces: verbs.Namespaces,
		Stale:      verbs.Stale,
		Warn:       func(string) {},
	}, nil
}

// holdBoltLocal writes the state by the product's own packages: 100,000
// processes would take longer than all that is measured. First the network is
// born without an allocation, in contract with its tombstone in place, or in
// switch, where each batch then writes host-local's files as well.
func (p plugin) holdBoltLocal(n int) error {
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		return err
	}
	state, err := p.state()
	if err != nil {
		return err
	}
	sets := state.Config.RangeSets
	err = state.Update(ipam.VerbAdd, networkName, func(tx ipam.Tx) error { return tx.SetRanges(sets) })
	if err != nil {
		return err
	}
	written := 0
	for addrs := range slices.Chunk(addresses(p.subnet, n), batch) {
		err := state.Update(ipam.VerbAdd, networkName, func(tx ipam.Tx) error {
			for i, addr := range addrs {
				holder := record.Holder{
					Attachment:  record.Attachment{ContainerID: containerID("held", written+i), IfName: ifName},
					Origin:      record.OriginAdd,
					AllocatedAt: time.Now(),
					BootTime:    time.Duration(boot.Nano()),
					NetNS:       record.NetNS{Path: netnsPath},
				}
				err := tx.Put(record.Allocation{Addr: addr, Epoch: tx.Epoch(), Holders: []record.Holder{holder}})
				if err != nil {
					return err
				}
			}
			return tx.SetCursor(sets[0], addrs[len(addrs)-1])
		})
		if err != nil {
			return err
		}
		written += len(addrs)
	}
	return nil
}

// expectSettled asks that the network is in this phase with n addresses held,
// and that the next call finds nothing to do but its own work: no birth, no
// import, no swap.
func (p plugin) expectSettled(phase engine.Phase, n int) error {
	state, err := p.state()
	if err != nil {
		return err
	}
	return state.Store.Read(func(tx *store.Tx) error {
		return state.ViewIn(tx, networkName, true, func(v engine.View) error {
			held := 0
			if err := v.Each(func(record.Allocation) error { held++; return nil }); err != nil {
				return err
			}
			shut := v.Old.Shut != nil && v.Old.Shut.DataDir == p.dataDir
			if v.Progress.Phase != phase || v.Progress.Pending != "" || v.Changed || len(v.Differences) > 0 ||
				shut != (phase == engine.Contract) || held != n {
				return fmt.Errorf("%s is in phase %s, pending %q, with %d held, tombstone %t, files changed %t, differences %q; want phase %s, %d held and nothing to do",
					p.dataDir, v.Progress.Phase, v.Progress.Pending, held, shut, v.Changed, v.Differences, phase, n)
			}
			return nil
		})
	})
}
