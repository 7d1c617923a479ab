package cri

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

const configFile = "10-podnet.conflist"

// plainNode is the state of a node without a network: enough where the runtime is
// a fake.
type plainNode struct{ plugin, dataDir, confDir, cacheDir string }

func newPlainNode(t *testing.T) plainNode {
	t.Helper()
	n := plainNode{testenv.Binary(t, lab.BoltLocal), filepath.Join(t.TempDir(), "bolt-local"), t.TempDir(), t.TempDir()}
	list := conflist(t, "1.0.0", network, bridge(n.ipam()))
	if err := os.WriteFile(filepath.Join(n.confDir, configFile), list, 0o600); err != nil {
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
	return n.tryAddWith(t, id,
		fmt.Sprintf("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_UID=uid-of-%[1]s;K8S_POD_INFRA_CONTAINER_ID=%[1]s", id))
}

// tryAddWith is tryAdd with what the runtime says of the pod in CNI_ARGS.
func (n plainNode) tryAddWith(t *testing.T, id, args string) error {
	t.Helper()
	conf := bridge(n.ipam())
	conf["cniVersion"], conf["name"] = "1.0.0", network
	call := lab.Call{
		Verb: "ADD", ContainerID: id, IfName: ifname, NetNS: "/nowhere/" + id, AnyNetNS: true, Config: encode(t, conf), Args: args,
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
	return tryAgent(t, "backfill", "--data-dir", n.dataDir, "--conf-dir", n.confDir, "--cni-cache-dir", n.cacheDir,
		"--runtime-endpoint", endpoint, "--timeout", "1s")
}

// cache keeps the result of a pod's ADD as libcni does.
func (n plainNode) cache(t *testing.T, id, addr string) {
	t.Helper()
	result := encode(t, object{
		"kind": "cniCacheV1", "containerId": id, "ifName": ifname, "networkName": network, "netns": "/nowhere/" + id,
		"cniArgs": [][]string{{"K8S_POD_UID", "uid-of-" + id}},
		"result":  object{"cniVersion": "1.0.0", "ips": []object{{"address": addr + "/16"}}},
	})
	if err := os.WriteFile(filepath.Join(n.cacheDir, network+"-"+id+"-"+ifname), result, 0o600); err != nil {
		t.Fatal(err)
	}
}

// removeConfig takes the network's configuration away: it is only stored then.
func (n plainNode) removeConfig(t *testing.T) {
	t.Helper()
	if err := os.Remove(filepath.Join(n.confDir, configFile)); err != nil {
		t.Fatal(err)
	}
}

// gc finds the cache by the network's configuration.
func (n plainNode) gc(t *testing.T, endpoint string) (said string, err error) {
	t.Helper()
	return tryAgent(t, "gc", "--data-dir", n.dataDir, "--conf-dir", n.confDir, "--runtime-endpoint", endpoint,
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
