package cri

import (
	"fmt"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// forget makes containerd forget a pod that it cannot stop, as people do it. The
// pod's namespace is left.
func (n *node) forget(t *testing.T, p *pod) {
	t.Helper()
	eventually(t, startLimit, "the pod's container can be removed", func() error {
		return n.tryCtr(t, "containers", "rm", p.id)
	})
	if n.version(t) >= 2 { // which keeps sandboxes beside them
		n.ctr(t, "sandboxes", "rm", "--force", p.id)
	}
	n.kill(t)
	n.start(t)
}

// version is containerd's major one.
func (n *node) version(t *testing.T) (major int) {
	t.Helper()
	resp, err := n.runtime.Version(t.Context(), &runtimeapi.VersionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(strings.TrimPrefix(resp.GetRuntimeVersion(), "v"), "%d.", &major); err != nil {
		t.Fatalf("containerd has version %q: %v", resp.GetRuntimeVersion(), err)
	}
	return major
}

// attachElsewhere is an attachment of a runtime that has no CRI, such as
// podman.
func (n *node) attachElsewhere(t *testing.T, id string, plugins ...object) *pod {
	t.Helper()
	ns := testenv.Namespace(t, id)
	return n.attach(t, conflist(t, "1.0.0", network, plugins...),
		&libcni.RuntimeConf{ContainerID: id, NetNS: ns.Path, IfName: ifname}, ns)
}

func TestGCTakesBackWhatALostDELLeftAndNothingElse(t *testing.T) {
	if !onNode(t, lab.Agent) {
		return
	}
	n := newNode(t, bridge(ipam("10.77.0.0/24")))
	web, lost := n.run(t, "web"), n.run(t, "lost")
	podman := n.attachElsewhere(t, "podman", bridge(ipam("10.77.0.0/24")))
	gcNow(t)
	expectHeld(t, web, lost, podman)

	n.uninstall(t, lab.BoltLocal)
	if err := n.tryStop(t, lost); err == nil {
		t.Fatal("a pod was stopped without the plugin")
	}
	n.forget(t, lost)
	n.install(t, lab.BoltLocal)
	expectHeld(t, web, lost, podman)

	// Whoever still has the interface would answer for the address.
	expectSaid(t, gcNow(t), lost.addrs[0].String(), "alive")
	expectHeld(t, web, lost, podman)
	n.unmountNamespace(t, lost)

	agent(t, "gc", "--confirm-after", "100ms") // too young
	expectHeld(t, web, lost, podman)
	expectSaid(t, gcNow(t, "--dry-run"), lost.addrs[0].String(), lost.id)
	expectHeld(t, web, lost, podman)
	expectSaid(t, gcNow(t), lost.addrs[0].String(), lost.id)
	expectHeld(t, web, podman)
	expectPing(t, web, podman)
}

func TestAnADDInFlightWhileGCListsSurvives(t *testing.T) {
	if !onNode(t, lab.Agent) {
		return
	}
	n := newNode(t, bridge(ipam("10.77.0.0/24")))
	web := n.run(t, "web")
	gate := n.holdBridge(t)
	slow := make(chan *pod)
	go func() {
		p := &pod{name: "slow"}
		var err error
		if p.id, err = n.tryRun(t, p.name); err != nil {
			t.Errorf("starting pod %s: %v", p.name, err)
		}
		slow <- p
	}()
	gate.waitFor(t)
	before := held(t)
	if len(before) != 2 {
		t.Errorf("held are %v, want the two pods' addresses", before)
	}
	agent(t, "gc", "--confirm-after", "100ms") // containerd does not list it yet
	gate.open(t)
	p := <-slow
	if t.Failed() {
		return
	}
	n.look(t, p)
	expectHeld(t, web, p)
	expectPing(t, web, p)
}

// Some containerds know the pod afterwards and send its DEL, some know it and
// send none (1.7.23 to 2.2.1), some do not know it.
func TestAContainerdKilledInTheMiddleOfAnADDLeavesNothingForGood(t *testing.T) {
	if !onNode(t, lab.Agent) {
		return
	}
	n := newNode(t, bridge(ipam("10.77.0.0/24")))
	web := n.run(t, "web")
	gate := n.holdBridge(t)
	answer := make(chan error)
	go func() {
		_, err := n.tryRun(t, "lost")
		answer <- err
	}()
	gate.waitFor(t)
	n.kill(t)
	if err := <-answer; err == nil {
		t.Error("a killed containerd has answered")
	}
	gate.open(t)
	n.start(t)
	if all := held(t); len(all) != 2 {
		t.Errorf("held are %v, want the two pods' addresses", all)
	}

	resp, err := n.runtime.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range resp.GetItems() {
		if s.GetId() != web.id {
			n.remove(t, &pod{name: "lost", id: s.GetId()})
		}
	}
	gcNow(t)
	expectHeld(t, web)
}
