package network

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// chained is the conflist that brings GC to bolt-local: no main plugin passes
// GC on to its IPAM plugin, so bolt-local also stands at the end of the list.
func (n *node) chained(t *testing.T) *libcni.NetworkConfigList {
	t.Helper()
	return conflist(t, "chained",
		bridge(n.ipam()),
		object{"type": ipamType, "ipam": object{"dataDir": n.dataDir}})
}

// loseDEL lets a pod vanish without a DEL, and the runtime forget about it.
func (n *node) loseDEL(t *testing.T, list *libcni.NetworkConfigList, p *pod) {
	t.Helper()
	if err := p.ns.Close(); err != nil {
		t.Fatal(err)
	}
	n.forget(t, list, p)
}

// forget removes the pod from libcni's cache. GC of libcni itself sends a DEL
// for a pod that it remembers.
func (n *node) forget(t *testing.T, list *libcni.NetworkConfigList, p *pod) {
	t.Helper()
	file := list.Name + "-" + p.ContainerID + "-" + p.IfName
	if err := os.Remove(filepath.Join(n.cacheDir, "results", file)); err != nil {
		t.Fatal(err)
	}
}

// gc runs the runtime's GC with a list of the pods that live.
func (n *node) gc(t *testing.T, list *libcni.NetworkConfigList, alive ...*pod) {
	t.Helper()
	valid := []types.GCAttachment{} // empty, not null
	for _, p := range alive {
		valid = append(valid, lab.Attachment(p.RuntimeConf))
	}
	if err := n.GCNetworkList(t.Context(), list, &libcni.GCArgs{ValidAttachments: valid}); err != nil {
		t.Fatalf("GC of %s: %v", list.Name, err)
	}
}

func TestChainedRolePassesTheResultOfTheBridgeThrough(t *testing.T) {
	n := newNode(t, lab.Bridge)
	list := n.chained(t)
	web := newPod(t, "web")
	n.add(t, list, web)
	expectAddresses(t, web, "10.77.0.2/24", "fd00:77::2/64")
	if len(web.result.Interfaces) != 3 {
		t.Errorf("result has interfaces %v, want the bridge and both ends of the veth", web.result.Interfaces)
	}
	if err := n.CheckNetworkList(t.Context(), list, web.RuntimeConf); err != nil {
		t.Errorf("CHECK: %v", err)
	}
	n.del(t, list, web)
	n.expectHeld(t, list.Name)
}

func TestGCFreesWhatALostDELLeft(t *testing.T) {
	n := newNode(t, lab.Bridge)
	list := n.chained(t)
	other := conflist(t, "other", bridge(n.ipam()))
	web, db, elsewhere := newPod(t, "web"), newPod(t, "db"), newPod(t, "elsewhere")
	n.add(t, list, web)
	n.add(t, list, db)
	n.add(t, other, elsewhere)
	n.loseDEL(t, list, db)

	n.gc(t, list, web)
	n.expectHeld(t, list.Name, web)
	n.expectHeld(t, other.Name, elsewhere)

	n.gc(t, list)
	n.expectHeld(t, list.Name)
	n.expectHeld(t, other.Name, elsewhere)
}

func TestGCOfLibcniSendsDELForWhatItsCacheKnows(t *testing.T) {
	n := newNode(t, lab.Bridge)
	// Not chained: GC itself does not reach bolt-local.
	list := conflist(t, "bridged", bridge(n.ipam()))
	web, db := newPod(t, "web"), newPod(t, "db")
	n.add(t, list, web)
	n.add(t, list, db)
	n.gc(t, list, web)
	n.expectHeld(t, list.Name, web)
}

// CRI-O sends null for every network that is not its own.
func TestGCWithNullFreesOnlyWhereTheNamespaceIsGone(t *testing.T) {
	if !testenv.InOwnProcesses(t, lab.Bridge, ipamType) {
		return
	}
	n := newNode(t, lab.Bridge)
	list := n.chained(t)
	web, db := newPod(t, "web"), newPod(t, "db")
	n.add(t, list, web)
	n.add(t, list, db)
	n.forget(t, list, web)
	n.loseDEL(t, list, db)

	if err := n.GCNetworkList(t.Context(), list, &libcni.GCArgs{}); err != nil {
		t.Fatalf("GC of %s with null: %v", list.Name, err)
	}
	n.expectHeld(t, list.Name, web)
}

// `cnitool gc` and others send no list at all: that is no statement about who
// lives.
func TestGCWithoutAListIsRefusedAndFreesNothing(t *testing.T) {
	n := newNode(t, lab.Bridge)
	list := n.chained(t)
	web := newPod(t, "web")
	n.add(t, list, web)
	n.forget(t, list, web)

	expectCode(t, n.GCNetworkList(t.Context(), list, nil), types.ErrInvalidNetworkConfig)
	n.expectHeld(t, list.Name, web)
}
