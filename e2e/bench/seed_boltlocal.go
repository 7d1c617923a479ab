package main

import (
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
	"golang.org/x/sys/unix"
)

// batch is the number of allocations in a transaction. More in one are slower:
// bbolt keeps the keys of a leaf in a slice until it splits the leaf at commit.
const batch = 1_000

// holdBoltLocal writes a checkpoint by the product's own package: 100,000
// processes would take longer than all that is measured.
func (p plugin) holdBoltLocal(n int) error {
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		return err
	}
	set := record.RangeSet{{
		Subnet:  p.subnet,
		Start:   p.subnet.Addr().Next(),
		End:     lastHost(p.subnet),
		Gateway: p.subnet.Addr().Next(),
	}}
	s := store.New(p.dataDir, store.Options{})
	written := 0
	for addrs := range slices.Chunk(addresses(p.subnet, n), batch) {
		err := s.Update(store.Op{Verb: "ADD", Creates: true, Runtime: true}, func(tx *store.Tx) error {
			network := tx.Network(networkName)
			for i, addr := range addrs {
				holder := record.Holder{
					Attachment:  record.Attachment{ContainerID: containerID("held", written+i), IfName: ifName},
					Origin:      record.OriginAdd,
					AllocatedAt: time.Now(),
					BootTime:    time.Duration(boot.Nano()),
					NetNS:       record.NetNS{Path: netnsPath},
				}
				err := network.Put(record.Allocation{Addr: addr, Epoch: tx.Epoch(), Holders: []record.Holder{holder}})
				if err != nil {
					return err
				}
			}
			if err := network.SetRanges([]record.RangeSet{set}); err != nil {
				return err
			}
			return network.SetCursor(set, addrs[len(addrs)-1])
		})
		if err != nil {
			return err
		}
		written += len(addrs)
	}
	return nil
}
