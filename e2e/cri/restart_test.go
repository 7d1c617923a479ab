package cri

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestAKilledContainerdFindsItsPodsWhereTheyWere(t *testing.T) {
	if !onNode(t) {
		return
	}
	n := newNode(t, bridge(ipam("10.77.0.0/24")))
	web, db := n.run(t, "web"), n.run(t, "db")
	before := testenv.Dump(t, dataDir)

	n.kill(t)
	expectPing(t, web, db) // the pods live on
	n.start(t)
	if diff := cmp.Diff(before, testenv.Dump(t, dataDir), sameAddresses); diff != "" {
		t.Errorf("dump has changed (-before +after):\n%s", diff)
	}
	for _, p := range []*pod{web, db} {
		if s := n.status(t, p); !s.ready || !cmp.Equal(s.addrs, p.addrs, sameAddresses) {
			t.Errorf("pod %s is ready %v with %v, had %v", p.name, s.ready, s.addrs, p.addrs)
		}
	}
	expectPing(t, web, db)

	more := n.run(t, "more")
	expectHeld(t, web, db, more)
	expectPing(t, more, web)
	n.stop(t, web)
	expectHeld(t, db, more)
}
