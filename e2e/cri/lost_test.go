package cri

import (
	"os"
	"slices"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// loseCheckpoint removes all that bolt-local has in its data directory.
func loseCheckpoint(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(dataDir); err != nil {
		t.Fatal(err)
	}
}

func TestBackfillRestoresALostCheckpointFromLibcnisCache(t *testing.T) {
	if !onNode(t, lab.Agent) {
		return
	}
	n := newNode(t, bridge(ipam("10.77.0.0/24", "fd00:77::/64")))
	n.writeConflist(t, "20-other", conflist(t, "1.0.0", "other", bridge(ipam("10.77.0.0/16"))))
	pods := n.runAll(t, "web", "db", "cache")
	loseCheckpoint(t)

	n.backfill(t, "--dry-run")
	if _, err := os.Stat(dataDir); err == nil {
		t.Errorf("a dry run has made %s", dataDir)
	}
	n.backfill(t)
	expectHeld(t, pods...)
	expectNothingUnknown(t, network)
	if others := testenv.Dump(t, dataDir).Allocations("other"); len(others) > 0 {
		t.Errorf("another network has %v", others)
	}
	n.backfill(t) // again
	expectHeld(t, pods...)
	n.expectAsBefore(t, pods)
}

func TestBackfillRestoresALostCheckpointFromTheRuntimeAlone(t *testing.T) {
	if !onNode(t, lab.Agent) {
		return
	}
	n := newNode(t, bridge(ipam("10.77.0.0/24", "fd00:77::/64")))
	pods := n.runAll(t, "web", "db", "cache")
	loseCheckpoint(t)
	loseCache(t)
	n.backfill(t)
	expectHeld(t, pods...)
	n.expectAsBefore(t, pods)
}

// The CRI does not say which network a pod is in.
func TestBackfillMarksANetworkThatItCannotTellUntilDELOrGCSettlesIt(t *testing.T) {
	if !onNode(t, lab.Agent) {
		return
	}
	n := newNode(t, chained()...)
	n.writeConflist(t, "20-other", conflist(t, "1.0.0", "other", bridge(ipam("10.77.0.0/16"))))
	pods := n.runAll(t, "web", "db", "cache")
	loseCheckpoint(t)
	loseCache(t)
	n.backfill(t)
	expectHeld(t, pods...)
	expectGuessed(t, network, pods...)
	expectGuessed(t, "other", pods...)

	n.stop(t, pods[0])
	expectHeld(t, pods[1:]...)
	expectGuessed(t, "other", pods[1:]...)
	// Who is not listed in one network may be in the other.
	if err := n.gc(t, network, valid(pods[2])); err != nil {
		t.Fatal(err)
	}
	expectHeld(t, pods[2])
	expectGuessed(t, "other", pods[1:]...)
	if err := n.gc(t, "other", valid()); err != nil {
		t.Fatal(err)
	}
	expectHeld(t, pods[2])
	expectGuessed(t, "other")
	n.expectAsBefore(t, pods[2:])
}

// expectGuessed checks that the pods are in the network by a guess, and nobody
// else is there.
func expectGuessed(t *testing.T, network string, pods ...*pod) {
	t.Helper()
	ids := map[string]bool{}
	for _, p := range pods {
		ids[p.id] = true
	}
	for _, a := range testenv.Dump(t, dataDir).Allocations(network) {
		if !ids[a.ContainerID] || !slices.Equal(a.Unknown, []string{"network"}) {
			t.Errorf("network %s has %s of %s, unknown: %q", network, a.IP, a.ContainerID, a.Unknown)
		}
		delete(ids, a.ContainerID)
	}
	for id := range ids {
		t.Errorf("network %s has no address of %s", network, id)
	}
}

// expectAsBefore checks that the node goes on: new pods get other addresses, and
// in the end nothing is held.
func (n *node) expectAsBefore(t *testing.T, pods []*pod) {
	t.Helper()
	more := n.run(t, "more")
	pods = append(slices.Clone(pods), more)
	expectHeld(t, pods...)
	expectPing(t, pods[0], more)
	for _, p := range pods {
		n.stop(t, p)
		n.remove(t, p)
	}
	expectHeld(t)
}

func expectNothingUnknown(t *testing.T, network string) {
	t.Helper()
	for _, a := range testenv.Dump(t, dataDir).Allocations(network) {
		if len(a.Unknown) > 0 {
			t.Errorf("of %s in %s, unknown is %q", a.IP, network, a.Unknown)
		}
	}
}
