package cri

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// chained are plugins that bring GC to bolt-local: no main plugin passes it on.
func chained() []object {
	return []object{bridge(ipam("10.77.0.0/24")), {"type": lab.BoltLocal}}
}

// gc is what CRI-O does at its start, for each network. containerd does not call
// it.
func (n *node) gc(t *testing.T, network string, args *libcni.GCArgs) error {
	t.Helper()
	list, err := libcni.NetworkConfFromBytes(conflist(t, "1.1.0", network, chained()...))
	if err != nil {
		t.Fatal(err)
	}
	return lab.NewRuntime(thisNode, n.binDir, cniDir).GCNetworkList(t.Context(), list, args)
}

func valid(pods ...*pod) *libcni.GCArgs {
	list := []types.GCAttachment{} // empty, not null
	for _, p := range pods {
		list = append(list, types.GCAttachment{ContainerID: p.id, IfName: ifname})
	}
	return &libcni.GCArgs{ValidAttachments: list}
}

// loseCache removes all that libcni remembers: of what is in its cache and not
// in the list, it sends a DEL itself.
func loseCache(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cacheDir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("libcni has no cache in %s: %v", cacheDir, err)
	}
	if err := os.RemoveAll(cacheDir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(cacheDir, 0o700); err != nil { // without it, GC does nothing
		t.Fatal(err)
	}
}

func TestGCThroughTheChainedRoleFreesWhatIsNotListed(t *testing.T) {
	if !onNode(t) {
		return
	}
	n := newNode(t, chained()...)
	pods := n.runAll(t, "web", "db", "cache")
	expectHeld(t, pods...)
	expectPing(t, pods[0], pods[1])
	loseCache(t)

	for _, list := range [][]*pod{pods, pods[:2], pods[:1], {}} {
		if err := n.gc(t, network, valid(list...)); err != nil {
			t.Fatalf("GC with %d attachments: %v", len(list), err)
		}
		expectHeld(t, list...)
	}
	for _, p := range pods { // there is nothing left to free
		n.stop(t, p)
	}
	expectHeld(t)
}

// CRI-O sends null for every network that is not its own.
func TestGCWithNullThroughTheChainedRoleFreesTheDeadAlone(t *testing.T) {
	if !onNode(t) {
		return
	}
	n := newNode(t, chained()...)
	web, db := n.run(t, "web"), n.run(t, "db")
	n.kill(t)
	loseCache(t)
	n.endPod(t, db)
	if err := n.gc(t, network, &libcni.GCArgs{}); err != nil {
		t.Fatal(err)
	}
	expectHeld(t, web)
}

// `cnitool gc` and others send no list at all.
func TestGCWithoutAListThroughTheChainedRoleIsRefused(t *testing.T) {
	if !onNode(t) {
		return
	}
	n := newNode(t, chained()...)
	pods := n.runAll(t, "web", "db")
	loseCache(t)
	err := n.gc(t, network, nil)
	var e *types.Error
	if !errors.As(err, &e) || e.Code != types.ErrInvalidNetworkConfig {
		t.Errorf("GC without a list: %v, want error code %d", err, types.ErrInvalidNetworkConfig)
	}
	expectHeld(t, pods...)
}
