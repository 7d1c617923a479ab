package cri

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// hostLocalDir is where host-local keeps its files by default.
const hostLocalDir = "/var/lib/cni/networks"

// hostLocal is the configuration of host-local with a subnet.
func hostLocal(subnet string) object {
	conf := ipam(subnet)
	conf["type"] = lab.HostLocal
	return conf
}

// static is the configuration of a plugin that keeps no state at all.
func static(address string) object {
	return object{"type": lab.Static, "addresses": []object{{"address": address, "gateway": "10.77.0.1"}}}
}

func TestBackfillCompletesWhatAnOldHostLocalLeft(t *testing.T) {
	if !onNode(t, lab.Agent, lab.HostLocal) {
		return
	}
	n := newNode(t, bridge(hostLocal("10.77.0.0/29")))
	n.install(t, lab.HostLocal)
	pods := n.runAll(t, "web", "db") // .2 and .3
	for _, p := range pods {
		// Before v0.8.0 a file had the id alone, and libcni no cache.
		path := filepath.Join(hostLocalDir, network, p.addrs[0].String())
		if err := os.WriteFile(path, []byte(p.id), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loseCache(t)
	n.reconfigure(t, bridge(ipam("10.77.0.0/29")))
	n.backfill(t)
	expectHeld(t, pods...)
	expectNothingUnknown(t, network)
	n.expectNoneGivenTwice(t, pods)
}

func TestBackfillAdoptsThePodsOfAnotherIPAMPlugin(t *testing.T) {
	if !onNode(t, lab.Agent, lab.Static) {
		return
	}
	n := newNode(t, bridge(static("10.77.0.2/29")))
	n.install(t, lab.Static)
	web := n.run(t, "web")
	n.reconfigure(t, bridge(static("10.77.0.5/29")))
	pods := []*pod{web, n.run(t, "db")}
	loseCache(t) // it alone would do
	n.reconfigure(t, bridge(ipam("10.77.0.0/29")))
	n.backfill(t)
	expectHeld(t, pods...)
	n.expectNoneGivenTwice(t, pods)
}

// expectNoneGivenTwice fills the network, which has five addresses beside the
// gateway.
func (n *node) expectNoneGivenTwice(t *testing.T, pods []*pod) {
	t.Helper()
	pods = append(pods, n.runAll(t, "c", "d", "e")...)
	expectHeld(t, pods...)
	if _, err := n.tryRun(t, "one-too-many"); err == nil {
		t.Error("a full network has taken another pod")
	}
	expectPing(t, pods[0], pods[4])
	for _, p := range pods {
		n.stop(t, p)
		n.remove(t, p)
	}
	expectHeld(t)
}
