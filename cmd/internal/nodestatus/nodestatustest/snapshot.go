package nodestatustest

import (
	"net/netip"
	"time"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// Snapshot has something of everything. Each call makes it anew.
func Snapshot() nodestatus.Snapshot {
	return nodestatus.Snapshot{
		Path:   "/var/lib/cni/bolt-local/checkpoint.db",
		Exists: true,
		Size:   128 << 10,
		Format: store.Format{Schema: 1, OldestWriter: 1, Writer: "v0.1.0", Created: Now().Add(-72 * time.Hour)},
		Epoch:  Boot,
		Boots:  map[uint64]string{1: "boot-1", Boot: "boot-2"},
		Damages: []store.Damage{
			{Time: Now().Add(-time.Hour), Problem: "the checkpoint is damaged: it is empty", From: store.SourceJournal, Kept: "checkpoint.db.damaged-20261129T110000Z"},
		},
		Deferred: 2,
		Networks: []nodestatus.Network{
			podnet(),
			storage(),
			{Name: "young", Lost: "nothing that was left had everything"},
		},
	}
}

func podnet() nodestatus.Network {
	pod := By("0a1b2c3d4e5f60718293a4b5c6d7e8f9", "eth0", 26*time.Hour)
	pod.Pod = record.Pod{Namespace: "kube-system", Name: "coredns-5d78c9869d-x2x4q", UID: "8c1f"}
	pod.NetNS = record.NetNS{Path: "/ns/alive", Inode: 1, MountNS: 9}
	lost := By("lost", "eth0", 3*time.Minute)
	lost.NetNS = record.NetNS{Path: "/ns/lost", Inode: 2, MountNS: 9}
	imported := record.Holder{Attachment: record.Attachment{ContainerID: "imported"}, Origin: record.OriginHostLocal}
	return nodestatus.Network{
		Name: "podnet",
		Ranges: []record.RangeSet{
			{rangeOf("10.1.0.0/24", "10.1.0.1", "10.1.0.254", "10.1.0.1")},
			{rangeOf("fd00:1::/64", "fd00:1::1", "fd00:1::ffff:ffff:ffff:ffff", "fd00:1::1")},
		},
		Allocations: []record.Allocation{
			Held("10.1.0.2", Boot, pod),
			Held("10.1.0.3", Boot, lost),
			Held("10.1.0.4", 1, By("old", "eth0", 90*time.Hour)),
			Held("10.1.0.5", 0, imported),
			Held("10.7.0.2", Boot, By("moved", "eth0", time.Second)),
			Held("fd00:1::2", Boot, pod),
		},
		Migration: nodestatus.Migration{
			Phase:     engine.Switch,
			Target:    engine.Contract,
			Waits:     "1 allocation was made by host-local",
			Directory: "/var/lib/cni/networks/podnet",
		},
	}
}

func storage() nodestatus.Network {
	return nodestatus.Network{
		Name: "storage",
		Ranges: []record.RangeSet{{
			rangeOf("10.1.0.0/29", "10.1.0.1", "10.1.0.2", ""),
			rangeOf("192.168.7.0/24", "192.168.7.10", "192.168.7.10", ""),
		}},
		Allocations: []record.Allocation{
			Held("10.1.0.1", Boot, By("a", "net1", time.Hour)),
			Held("10.1.0.2", Boot, By("b", "net1", time.Hour), By("c", "net1", 2*time.Hour)),
			Held("192.168.7.10", Boot, By("d", "net1", time.Hour)),
		},
		Migration: nodestatus.Migration{Phase: engine.Contract, Directory: "/var/lib/cni/networks/storage", Shut: true},
	}
}

// rangeOf is a range, with no gateway for "".
func rangeOf(subnet, start, end, gateway string) record.Range {
	r := record.Range{Subnet: netip.MustParsePrefix(subnet), Start: netip.MustParseAddr(start), End: netip.MustParseAddr(end)}
	if gateway != "" {
		r.Gateway = netip.MustParseAddr(gateway)
	}
	return r
}
