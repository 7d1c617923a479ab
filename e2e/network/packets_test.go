package network

import (
	"testing"

	"github.com/containernetworking/cni/libcni"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestTwoPodsPingEachOtherOverBridge(t *testing.T) {
	n := newNode(t, lab.Bridge)
	n.expectRoundTrip(t, conflist(t, "bridged", bridge(n.ipam())))
}

// With ptp each pod has a link of its own and the node routes between them.
func TestTwoPodsPingEachOtherOverPTP(t *testing.T) {
	n := newNode(t, lab.PTP)
	n.expectRoundTrip(t, conflist(t, "routed", object{"type": "ptp", "ipam": n.ipam()}))
}

func TestTwoPodsPingEachOtherOverMacvlan(t *testing.T) {
	testenv.NeedMacvlan(t)
	n := newNode(t, lab.Macvlan)
	// Not every kernel has dummy devices, so a cable into nowhere stands
	// for the node's network card.
	for _, args := range [][]string{
		{"link", "add", "uplink", "type", "veth", "peer", "name", "nowhere"},
		{"link", "set", "nowhere", "up"},
		{"link", "set", "uplink", "up"},
	} {
		if _, err := n.ns.IP(args...); err != nil {
			t.Fatal(err)
		}
	}
	n.expectRoundTrip(t, conflist(t, "flat", object{"type": "macvlan", "master": "uplink", "ipam": n.ipam()}))
}

// expectRoundTrip attaches two pods, lets them ping each other, and detaches
// them.
func (n *node) expectRoundTrip(t *testing.T, list *libcni.NetworkConfigList) {
	t.Helper()
	web, db := newPod(t, "web"), newPod(t, "db")
	n.add(t, list, web)
	n.add(t, list, db)
	expectAddresses(t, web, "10.77.0.2/24", "fd00:77::2/64")
	expectAddresses(t, db, "10.77.0.3/24", "fd00:77::3/64")
	n.expectHeld(t, list.Name, web, db)
	expectPing(t, web, db)
	for _, p := range []*pod{web, db} {
		if err := n.CheckNetworkList(t.Context(), list, p.RuntimeConf); err != nil {
			t.Errorf("CHECK of %s: %v", p.ContainerID, err)
		}
	}

	n.del(t, list, web)
	n.expectHeld(t, list.Name, db)
	n.del(t, list, db)
	n.expectHeld(t, list.Name)
	n.del(t, list, db) // again: runtimes repeat it
}

func TestLoopbackStandsBesideANetworkOfBoltLocal(t *testing.T) {
	n := newNode(t, lab.Bridge, lab.Loopback)
	lo := conflist(t, "lo", object{"type": "loopback"})
	list := conflist(t, "bridged", bridge(n.ipam()))

	web := newPod(t, "web")
	loopback := *web
	loopback.RuntimeConf = &libcni.RuntimeConf{ContainerID: "web", NetNS: web.NetNS, IfName: "lo"}
	n.add(t, lo, &loopback)
	n.add(t, list, web)
	n.expectHeld(t, list.Name, web)
	n.expectHeld(t, lo.Name)

	n.del(t, list, web)
	n.del(t, lo, &loopback)
	n.expectHeld(t, list.Name)
}
