package cli

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// now is when the tests look.
var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

const boot = 2 // the number of the running boot

// namespaces are the living ones: path to inode. What is not among them is gone.
type namespaces map[string]uint64

// elsewhere is a mount namespace other than the test's.
const elsewhere = 77

func (n namespaces) Identify(path string) record.NetNS { return record.NetNS{Path: path} }
func (n namespaces) IsOwn(record.NetNS) bool           { return false }
func (n namespaces) Alive(ns record.NetNS) bool        { return ns.Inode != 0 && n[ns.Path] == ns.Inode }
func (n namespaces) Unsure() error                     { return nil }
func (n namespaces) Elsewhere(ns record.NetNS) bool    { return ns.MountNS == elsewhere }
func (n namespaces) Dead(ns record.NetNS) bool         { return ns.Inode != 0 && n[ns.Path] != ns.Inode }

func testPlugin() *ipam.Plugin { return &ipam.Plugin{Namespaces: namespaces{"/ns/alive": 1}} }

func rangeOf(subnet, start, end, gateway string) record.Range {
	r := record.Range{Subnet: netip.MustParsePrefix(subnet), Start: netip.MustParseAddr(start), End: netip.MustParseAddr(end)}
	if gateway != "" {
		r.Gateway = netip.MustParseAddr(gateway)
	}
	return r
}

func held(addr string, epoch uint64, holders ...record.Holder) record.Allocation {
	return record.Allocation{Addr: netip.MustParseAddr(addr), Epoch: epoch, Holders: holders}
}

func by(id, ifname string, ago time.Duration) record.Holder {
	return record.Holder{
		Attachment:  record.Attachment{ContainerID: id, IfName: ifname},
		Origin:      record.OriginAdd,
		AllocatedAt: now.Add(-ago),
	}
}

// testSnapshot has something of everything.
func testSnapshot() snapshot {
	pod := by("0a1b2c3d4e5f60718293a4b5c6d7e8f9", "eth0", 26*time.Hour)
	pod.Pod = record.Pod{Namespace: "kube-system", Name: "coredns-5d78c9869d-x2x4q", UID: "8c1f"}
	pod.NetNS = record.NetNS{Path: "/ns/alive", Inode: 1, MountNS: 9}
	lost := by("lost", "eth0", 3*time.Minute)
	lost.NetNS = record.NetNS{Path: "/ns/lost", Inode: 2, MountNS: 9}
	imported := record.Holder{Attachment: record.Attachment{ContainerID: "imported"}, Origin: record.OriginHostLocal}
	return snapshot{
		path:   "/var/lib/cni/bolt-local/checkpoint.db",
		exists: true,
		size:   128 << 10,
		format: store.Format{Schema: 1, OldestWriter: 1, Writer: "v0.1.0", Created: now.Add(-72 * time.Hour)},
		epoch:  boot,
		boots:  map[uint64]string{1: "boot-1", boot: "boot-2"},
		damages: []store.Damage{
			{Time: now.Add(-time.Hour), Problem: "the checkpoint is damaged: it is empty", From: store.SourceJournal, Kept: "checkpoint.db.damaged-20261129T110000Z"},
		},
		deferred: 2,
		networks: []network{
			{
				name: "podnet",
				ranges: []record.RangeSet{
					{rangeOf("10.1.0.0/24", "10.1.0.1", "10.1.0.254", "10.1.0.1")},
					{rangeOf("fd00:1::/64", "fd00:1::1", "fd00:1::ffff:ffff:ffff:ffff", "fd00:1::1")},
				},
				allocations: []record.Allocation{
					held("10.1.0.2", boot, pod),
					held("10.1.0.3", boot, lost),
					held("10.1.0.4", 1, by("old", "eth0", 90*time.Hour)),
					held("10.1.0.5", 0, imported),
					held("10.7.0.2", boot, by("moved", "eth0", time.Second)),
					held("fd00:1::2", boot, pod),
				},
				migration: migration{
					phase:     engine.Switch,
					target:    engine.Contract,
					waits:     "1 allocation was made by host-local",
					directory: "/var/lib/cni/networks/podnet",
				},
			},
			{
				name: "storage",
				ranges: []record.RangeSet{{
					rangeOf("10.1.0.0/29", "10.1.0.1", "10.1.0.2", ""),
					rangeOf("192.168.7.0/24", "192.168.7.10", "192.168.7.10", ""),
				}},
				allocations: []record.Allocation{
					held("10.1.0.1", boot, by("a", "net1", time.Hour)),
					held("10.1.0.2", boot, by("b", "net1", time.Hour), by("c", "net1", 2*time.Hour)),
					held("192.168.7.10", boot, by("d", "net1", time.Hour)),
				},
				migration: migration{phase: engine.Contract, directory: "/var/lib/cni/networks/storage", shut: true},
			},
			{name: "young", lost: "nothing that was left had everything"},
		},
	}
}

// printed returns what print writes to a screen of this width without colour.
func printed(t *testing.T, width int, print func(screen) error) string {
	t.Helper()
	var b strings.Builder
	if err := print(screen{Writer: &b, width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s\n%s", diff, got)
	}
}
