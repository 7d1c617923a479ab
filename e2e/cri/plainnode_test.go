package cri

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// plainNode is the state of a node without a network: enough where the runtime is
// a fake.
type plainNode struct{ plugin, dataDir, confDir, cacheDir string }

func newPlainNode(t *testing.T) plainNode {
	t.Helper()
	n := plainNode{testenv.Binary(t, lab.BoltLocal), filepath.Join(t.TempDir(), "bolt-local"), t.TempDir(), t.TempDir()}
	list := conflist(t, "1.0.0", network, bridge(n.ipam()))
	if err := os.WriteFile(filepath.Join(n.confDir, "10-podnet.conflist"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n plainNode) ipam() object {
	conf := ipam("10.0.0.0/16")
	conf["dataDir"], conf["cniCacheDirs"] = n.dataDir, []string{n.cacheDir}
	return conf
}

// add attaches a pod whose namespace is gone.
func (n plainNode) add(t *testing.T, id string) {
	t.Helper()
	if err := n.tryAdd(t, id); err != nil {
		t.Fatal(err)
	}
}

// tryAdd may be used from any goroutine.
func (n plainNode) tryAdd(t *testing.T, id string) error {
	t.Helper()
	conf := bridge(n.ipam())
	conf["cniVersion"], conf["name"] = "1.0.0", network
	call := lab.Call{
		Verb: "ADD", ContainerID: id, IfName: ifname, NetNS: "/nowhere/" + id, AnyNetNS: true, Config: encode(t, conf),
		Args: fmt.Sprintf("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=uid-of-%[1]s;K8S_POD_INFRA_CONTAINER_ID=%[1]s", id),
	}
	reply, err := call.Run(t.Context(), n.plugin)
	if err == nil {
		err = reply.Error()
	}
	if err != nil {
		return fmt.Errorf("ADD of %s: %w", id, err)
	}
	return nil
}

func (n plainNode) backfill(t *testing.T, endpoint string) (said string, err error) {
	t.Helper()
	return tryAgent(t, "backfill", "--data-dir", n.dataDir, "--conf-dir", n.confDir, "--runtime-endpoint", endpoint, "--timeout", "1s")
}

func (n plainNode) gc(t *testing.T, endpoint string) (said string, err error) {
	t.Helper()
	return tryAgent(t, "gc", "--data-dir", n.dataDir, "--runtime-endpoint", endpoint, "--cni-cache-dir", n.cacheDir,
		"--grace", "0", "--confirm-after", "10ms", "--timeout", "1s")
}

// holders are the container ids of the network's allocations.
func (n plainNode) holders(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, a := range testenv.Dump(t, n.dataDir).Allocations(network) {
		all[a.ContainerID] = a.IP.String()
	}
	return all
}
