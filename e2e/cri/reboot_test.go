package cri

import (
	"testing"

	"github.com/containernetworking/cni/libcni"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestAfterARebootAllAddressesAreFreeAndLateDELsDoNoHarm(t *testing.T) {
	if !onNode(t) {
		return
	}
	n := newNode(t, bridge(ipam("10.77.0.0/29"))) // the gateway, and five more
	old := n.runAll(t, "a", "b", "c", "d", "e")
	if _, err := n.tryRun(t, "one-too-many"); err == nil {
		t.Fatal("a full network has taken another pod")
	}
	n.reboot(t)
	expectHeld(t)
	for _, p := range old {
		if n.status(t, p).ready {
			t.Fatalf("pod %s has survived the reboot", p.name)
		}
	}

	// The kubelet starts the pods anew, under new ids, before it has ended all
	// of the old ones.
	n.stop(t, old[0])
	pods := n.runAll(t, "a", "b", "c")
	expectHeld(t, pods...)
	for _, p := range old {
		n.stop(t, p)
		n.remove(t, p)
		expectHeld(t, pods...)
	}
	pods = append(pods, n.runAll(t, "d", "e")...)
	expectHeld(t, pods...)
	expectPing(t, pods[0], pods[4])
}

// podman, nerdctl and nomad keep the ids of containers over a reboot.
func TestAContainerOfThePreviousBootGetsItsAddressBackIfItIsFree(t *testing.T) {
	if !onNode(t) {
		return
	}
	n := newNode(t, bridge(ipam("10.77.0.0/29")))
	old := n.runAll(t, "a", "b", "c") // .2, .3 and .4
	n.reboot(t)
	restored := n.addAgain(t, old[2])
	expectHeld(t, restored)
	if restored.addrs[0] != old[2].addrs[0] {
		t.Errorf("%s has %s, had %s before the reboot", restored.id, restored.addrs[0], old[2].addrs[0])
	}

	// .5 and .6, and then one of those that were held in the previous boot.
	pods := append(n.runAll(t, "d", "e", "f"), restored)
	expectAddresses(t, pods[2], "10.77.0.2")
	another := n.addAgain(t, old[0])
	expectAddresses(t, another, "10.77.0.3")
	pods = append(pods, another)
	expectHeld(t, pods...)
	expectPing(t, another, restored)
}

// addAgain attaches a container with the id of one that was.
func (n *node) addAgain(t *testing.T, old *pod) *pod {
	t.Helper()
	ns := testenv.Namespace(t, old.name)
	return n.attach(t, conflist(t, "1.0.0", network, bridge(ipam("10.77.0.0/29"))),
		&libcni.RuntimeConf{ContainerID: old.id, NetNS: ns.Path, IfName: ifname}, ns)
}

// attach plays another runtime on the node: it has no sandboxes, but the same
// libcni with the same cache.
func (n *node) attach(t *testing.T, conflist []byte, rt *libcni.RuntimeConf, ns *lab.Namespace) *pod {
	t.Helper()
	list, err := libcni.NetworkConfFromBytes(conflist)
	if err != nil {
		t.Fatal(err)
	}
	result, err := lab.NewRuntime(thisNode, n.binDir, cniDir).AddPod(t.Context(), list, rt)
	if err != nil {
		t.Fatal(err)
	}
	return &pod{name: rt.ContainerID, id: rt.ContainerID, addrs: addresses(t, result), ns: ns}
}
