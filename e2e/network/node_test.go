package network

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/containernetworking/cni/libcni"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// ipamType is the IPAM plugin under test.
const ipamType = lab.BoltLocal

// object is a JSON object.
type object = map[string]any

// node is one machine: a namespace, a runtime, and the state of both the
// runtime and the IPAM plugin.
type node struct {
	*lab.Runtime
	ns       *lab.Namespace
	binDir   string
	dataDir  string
	cacheDir string
}

// newNode makes a node with the named main plugins.
func newNode(t *testing.T, mainPlugins ...string) *node {
	t.Helper()
	testenv.NeedNetwork(t)
	n := &node{
		ns:       testenv.Namespace(t, "node"),
		binDir:   testenv.BinDir(t, append(mainPlugins, ipamType)...),
		dataDir:  filepath.Join(t.TempDir(), "bolt-local"),
		cacheDir: t.TempDir(),
	}
	n.Runtime = lab.NewRuntime(n.ns, n.binDir, n.cacheDir)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("stderr of the plugins:\n%s", n.Stderr())
		}
	})
	return n
}

// ipam is a dual stack IPAM configuration with default routes.
func (n *node) ipam() object {
	return object{
		"type":    ipamType,
		"dataDir": n.dataDir,
		// The machine's own caches are not this node's.
		"cniCacheDirs": []string{filepath.Join(n.cacheDir, "results")},
		"ranges": [][]object{
			{{"subnet": "10.77.0.0/24"}},
			{{"subnet": "fd00:77::/64"}},
		},
		"routes": []object{{"dst": "0.0.0.0/0"}, {"dst": "::/0"}},
	}
}

// bridge is the configuration of a bridge with that of its IPAM plugin. Only as
// a gateway does the bridge keep its MAC when ports come, which CHECK compares.
func bridge(ipam object) object {
	return object{"type": "bridge", "bridge": "cni0", "isGateway": true, "ipam": ipam}
}

// conflist makes a network configuration list of the plugins.
func conflist(t *testing.T, name string, plugins ...object) *libcni.NetworkConfigList {
	t.Helper()
	list, err := libcni.NetworkConfFromBytes(conflistJSON(t, name, plugins...))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func conflistJSON(t *testing.T, name string, plugins ...object) []byte {
	t.Helper()
	data, err := json.Marshal(object{"cniVersion": "1.1.0", "name": name, "plugins": plugins})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// pod is a container with its namespace and what the network gave it.
type pod struct {
	*libcni.RuntimeConf
	ns     *lab.Namespace
	result *current.Result
}

// newPod makes a namespace for a container that is in no network yet.
func newPod(t *testing.T, name string) *pod {
	t.Helper()
	ns := testenv.Namespace(t, name)
	return &pod{
		RuntimeConf: &libcni.RuntimeConf{ContainerID: name, NetNS: ns.Path, IfName: "eth0"},
		ns:          ns,
	}
}

// add attaches the pod to the network.
func (n *node) add(t *testing.T, list *libcni.NetworkConfigList, p *pod) {
	t.Helper()
	var err error
	if p.result, err = n.AddPod(t.Context(), list, p.RuntimeConf); err != nil {
		t.Fatal(err)
	}
}

// del detaches the pod from the network.
func (n *node) del(t *testing.T, list *libcni.NetworkConfigList, p *pod) {
	t.Helper()
	if err := n.DelNetworkList(t.Context(), list, p.RuntimeConf); err != nil {
		t.Fatalf("DEL of %s from %s: %v", p.ContainerID, list.Name, err)
	}
}
