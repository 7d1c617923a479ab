package cri

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

func TestGCAfterTheRuntimesStateWasWipedFreesTheDead(t *testing.T) {
	if !onNode(t, lab.Agent) {
		return
	}
	n := newNode(t, bridge(ipam("10.77.0.0/24")))
	old := n.runAll(t, "a", "b", "c")
	n.wipe(t)
	web := n.run(t, "web")
	podman := n.attachElsewhere(t, "podman", bridge(ipam("10.77.0.0/24")))
	expectHeld(t, append(old, web, podman)...)

	gcNow(t)
	expectHeld(t, web, podman)
	expectPing(t, web, podman)
}

// host-local's files do not say which of the containers were pods. libcni's
// cache does.
func TestGCAfterAWipeKnowsThePodsOfHostLocalByLibcnisCache(t *testing.T) {
	for _, cached := range []bool{true, false} {
		name := "the cache is left"
		if !cached {
			name = "the cache is gone"
		}
		t.Run(name, func(t *testing.T) {
			if !onNode(t, lab.Agent, lab.HostLocal) {
				return
			}
			n := newNode(t, bridge(hostLocal("10.77.0.0/24")))
			n.install(t, lab.HostLocal)
			old := n.runAll(t, "a", "b")
			podman := n.attachElsewhere(t, "podman", bridge(hostLocal("10.77.0.0/24")))
			if !cached {
				loseCache(t)
			}
			n.configure(t, bridge(ipam("10.77.0.0/24")))
			n.wipe(t)
			web := n.run(t, "web") // takes over host-local's directory
			expectHeld(t, append(old, web, podman)...)

			gcNow(t)
			if !cached {
				// Nobody says that they were pods, but who runs the node may.
				expectHeld(t, append(old, web, podman)...)
				gcNow(t, "--network", network)
				expectHeld(t, web)
				return
			}
			expectHeld(t, web, podman)
		})
	}
}
