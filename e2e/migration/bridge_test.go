package migration

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/containernetworking/cni/libcni"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

const (
	oldPods    = 40
	bystanders = 4 // of them, which live to the end and ping each other

	// pingPause leaves the machine to the plugins.
	pingPause = 10 * time.Millisecond
)

// node is a machine with a runtime and a bridge.
type node struct {
	network
	*lab.Runtime
	ns *lab.Namespace

	pods held
	conf map[string]*libcni.RuntimeConf
	nss  map[string]*lab.Namespace
}

func newNode(t *testing.T) *node {
	t.Helper()
	testenv.NeedNetwork(t)
	dir := t.TempDir()
	n := &node{
		network: newNetwork(t, dir),
		ns:      testenv.Namespace(t, "node"),
		pods:    held{},
		conf:    map[string]*libcni.RuntimeConf{},
		nss:     map[string]*lab.Namespace{},
	}
	n.dataDir = n.parent // the one ipam.dataDir of both
	n.Runtime = lab.NewRuntime(n.ns, testenv.BinDir(t, lab.Bridge, lab.HostLocal, lab.BoltLocal), filepath.Dir(n.cacheDir))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("stderr of the plugins:\n%s", n.Stderr())
		}
	})
	return n
}

// list is the node's configuration. To move, the type is changed, and nothing
// else.
func (n *node) list(t *testing.T, ipamType string) *libcni.NetworkConfigList {
	t.Helper()
	ipam := object{
		"type":         ipamType,
		"dataDir":      n.parent,
		"cniCacheDirs": []string{n.cacheDir}, // the machine's own are not this node's
		"ranges":       [][]object{{{"subnet": n.subnets[0]}}},
	}
	data, err := json.Marshal(object{
		"cniVersion": "1.1.0", "name": n.name,
		"plugins": []object{{"type": "bridge", "bridge": "cni0", "isGateway": true, "ipam": ipam}},
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := libcni.NetworkConfFromBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// attach starts a pod, whose address must be free.
func (n *node) attach(t *testing.T, list *libcni.NetworkConfigList, id string) {
	t.Helper()
	ns := testenv.Namespace(t, id)
	rt := &libcni.RuntimeConf{ContainerID: id, NetNS: ns.Path, IfName: "eth0"}
	result, err := n.AddPod(t.Context(), list, rt)
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := netip.AddrFromSlice(result.IPs[0].Address.IP)
	n.pods.note(t, id, addr.Unmap())
	n.conf[id], n.nss[id] = rt, ns
}

// detach ends a pod.
func (n *node) detach(t *testing.T, list *libcni.NetworkConfigList, id string) {
	t.Helper()
	if err := n.DelNetworkList(t.Context(), list, n.conf[id]); err != nil {
		t.Fatalf("DEL of %s: %v", id, err)
	}
	delete(n.pods, id)
}

func (n *node) check(t *testing.T, list *libcni.NetworkConfigList, id string) {
	t.Helper()
	if err := n.CheckNetworkList(t.Context(), list, n.conf[id]); err != nil {
		t.Errorf("CHECK of %s: %v", id, err)
	}
}

// pingAllAlong lets the containers ping each other in a ring, a packet at a time,
// until stop is called, which tells how many answers came.
func (n *node) pingAllAlong(t *testing.T, ids ...string) (stop func() int) {
	t.Helper()
	done := make(chan struct{})
	answers := 0
	pods, namespaces := maps.Clone(n.pods), maps.Clone(n.nss)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(pingPause):
			}
			from, to := ids[i%len(ids)], ids[(i+1)%len(ids)]
			if _, err := lab.Ping(namespaces[from], pods[from], pods[to]); err != nil {
				t.Errorf("%s, which has lived all along: %v", from, err)
				return
			}
			answers++
		}
	})
	return func() int {
		close(done)
		wg.Wait()
		return answers
	}
}

// The whole way of a node, with its pods running.
func TestANodeMovesToBoltLocalAndBackAndForwardWhileItsPodsPing(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	theirs, ours := n.list(t, lab.HostLocal), n.list(t, lab.BoltLocal)
	old := func(i int) string { return fmt.Sprintf("old-%d", i) }
	for i := range oldPods {
		n.attach(t, theirs, old(i))
	}
	var living []string
	for i := range bystanders {
		living = append(living, old(oldPods-1-i))
	}
	stop := n.pingAllAlong(t, living...)
	// Whatever fails, the pods' namespaces stay until the last ping.
	stopOnce := sync.OnceValue(stop)
	t.Cleanup(func() { stopOnce() })

	// Forward: every pod keeps its address, and new ones get free ones.
	n.check(t, ours, old(0)) // before any ADD
	for i := range 4 {
		n.attach(t, ours, fmt.Sprintf("new-%d", i))
	}
	n.expectInSwitch(t, n.pods)
	for i := range bystanders {
		n.check(t, ours, old(i))
	}
	// DEL of the old ones by either: some runtimes send the DEL that fits the
	// configuration of ADD time.
	for i := range 4 {
		n.detach(t, ours, old(i))
		n.detach(t, theirs, old(4+i))
	}
	n.expectDump(t, n.pods)
	n.detach(t, theirs, "new-0")
	n.attach(t, ours, "new-4")
	n.expectInSwitch(t, n.pods)

	// Back: host-local carries on with the truth.
	for i := range 4 {
		n.attach(t, theirs, fmt.Sprintf("back-%d", i))
	}
	n.detach(t, theirs, old(8))
	n.detach(t, theirs, "new-1")
	n.check(t, theirs, "new-2")
	n.pods.expect(t, "host-local's directory", n.files(t))

	// Forward again: nothing is stale.
	n.attach(t, ours, "again-0")
	n.expectInSwitch(t, n.pods)
	n.verify(t)
	for _, id := range n.pods.ids() {
		n.check(t, ours, id)
	}
	t.Logf("%d pings were answered", stopOnce())

	for i, id := range n.pods.ids() {
		if i%2 == 0 {
			n.detach(t, ours, id)
		} else {
			n.detach(t, theirs, id)
		}
	}
	n.expectDump(t, held{})
	n.attach(t, ours, "last")
	n.detach(t, ours, "last")
	n.expectInSwitch(t, held{})
}
