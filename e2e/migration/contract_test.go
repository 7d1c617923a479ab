package migration

import (
	"maps"
	"net/netip"
	"os"
	"slices"
	"testing"
)

// contracted is a network in contract that began on host-local, with what its
// pods hold.
func contracted(t *testing.T) (network, held) {
	t.Helper()
	n := newNetwork(t, t.TempDir())
	pods := held{}
	pods.add(t, n.theirs(), "theirs")
	ours := n.ours(contract)
	pods.add(t, ours, "web")
	pods.add(t, ours, "db")
	pods.del(t, n.theirs(), "theirs")
	pods.add(t, ours, "cache")
	n.expectPhase(t, contract)
	if t.Failed() {
		t.FailNow()
	}
	return n, pods
}

func TestContractIsReachedByItselfOnceHostLocalsPodsAreGone(t *testing.T) {
	n := newNetwork(t, t.TempDir())
	pods := held{}
	for _, id := range []string{"old-1", "old-2", "old-3"} {
		pods.add(t, n.theirs(), id)
	}
	ours := n.ours(contract)
	for _, id := range []string{"new-1", "new-2", "new-3"} {
		pods.add(t, ours, id)
		n.expectPhase(t, switched) // host-local's DEL may still come
		n.expectBoth(t, pods)
	}
	pods.del(t, n.theirs(), "old-1")
	pods.del(t, ours, "old-2")
	pods.add(t, ours, "new-4")
	n.expectPhase(t, switched)
	pods.del(t, n.theirs(), "old-3")
	n.expectPhase(t, switched) // a DEL takes no step

	pods.add(t, ours, "new-5")
	n.expectPhase(t, contract)
	n.expectShut(t, "new-1")
	n.expectDump(t, pods)
	pods.del(t, ours, "new-1")
	pods.add(t, ours, "new-6")
	n.expectShut(t, "new-2")
	n.expectDump(t, pods)
}

func TestTheTargetSwitchBringsHostLocalBackToWork(t *testing.T) {
	n, pods := contracted(t)
	n.expectShut(t, "web")
	pods.add(t, n.ours(switched), "back")
	n.expectPhase(t, switched)
	n.expectBoth(t, pods)
	expectHostLocalWorks(t, n, pods)
}

// expectHostLocalWorks lets host-local give and free addresses, and bolt-local
// follow.
func expectHostLocalWorks(t *testing.T, n network, pods held) {
	t.Helper()
	theirs := n.theirs()
	theirs.run(t, theirs.call("CHECK", pods.ids()[0]))
	pods.add(t, theirs, "host-local-1")
	pods.del(t, theirs, pods.ids()[0])
	pods.add(t, theirs, "host-local-2")
	n.expectDump(t, pods)
	pods.add(t, n.ours(noTarget), "after")
	n.expectBoth(t, pods)
}

func TestANetworkWithoutADirectoryShutsHostLocalOutAtOnce(t *testing.T) {
	for _, target := range []string{noTarget, contract} {
		t.Run("target "+target, func(t *testing.T) {
			n := newNetwork(t, t.TempDir())
			pods := held{}
			pods.add(t, n.ours(target), "web")
			n.expectPhase(t, contract)
			n.expectShut(t, "web")
			n.expectDump(t, pods)
		})
	}
}

// An operator may go back before the first pod has started.
func TestAnEmptyNetworkGoesBackFromContract(t *testing.T) {
	for name, began := range map[string]func(*testing.T, network){
		"after a pod that is gone": func(t *testing.T, n network) {
			n.ours(noTarget).add(t, "web")
			n.ours(noTarget).del(t, "web")
		},
		"after an ADD that failed": func(t *testing.T, n network) {
			p := n.ours(noTarget, object{"runtimeConfig": object{"ipRanges": [][]object{{
				{"subnet": "10.98.0.0/30", "exclude": []string{"10.98.0.2"}}, // and .1 is the gateway
			}}}})
			p.fails(t, "ADD", "web")
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t, t.TempDir())
			began(t, n)
			n.expectShut(t, "web")
			if err := n.byHand(t, "rollback"); err != nil {
				t.Fatal(err)
			}
			n.expectPhase(t, switched)
			n.ours(noTarget).del(t, "nobody")
			n.expectPhase(t, switched)
			pods := held{}
			pods.add(t, n.theirs(), "first")
			expectHostLocalWorks(t, n, pods)
		})
	}
}

// writingVerbs are those of bolt-local that may write.
var writingVerbs = []string{"ADD", "DEL", "GC"}

// writeNothing makes a call that has nothing to write for itself: the containers
// live, and somebody else holds the address.
func (n network) writeNothing(t *testing.T, verb string, taken netip.Addr, alive ...string) {
	t.Helper()
	p := n.ours(noTarget)
	switch verb {
	case "ADD":
		p.try(t, p.addTaken(taken))
	case "DEL":
		p.del(t, "nobody")
	case "GC":
		n.gc(t, noTarget, alive...)
	}
}

func TestATombstoneThatVanishedIsPutBackByEachWritingVerb(t *testing.T) {
	t.Parallel()
	for name, vanish := range map[string]func(network) error{
		"removed":                 func(n network) error { return os.Remove(n.dir()) },
		"removed with its parent": func(n network) error { return os.RemoveAll(n.parent) },
		"replaced by an empty directory": func(n network) error {
			if err := os.Remove(n.dir()); err != nil {
				return err
			}
			return os.Mkdir(n.dir(), 0o755)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, pods := contracted(t)
			for _, verb := range writingVerbs {
				if err := vanish(n); err != nil {
					t.Fatal(err)
				}
				n.writeNothing(t, verb, pods["web"], pods.ids()...)
				n.expectShut(t, "web")
				n.expectPhase(t, contract)
				n.expectDump(t, pods)
				if t.Failed() {
					t.Fatalf("after %s", verb)
				}
			}
		})
	}
	t.Run("replaced by the directory that a failed call of host-local makes", func(t *testing.T) {
		n, pods := contracted(t)
		if err := os.Remove(n.dir()); err != nil {
			t.Fatal(err)
		}
		n.theirs().del(t, "nobody") // makes the directory, and its lock
		n.ours(noTarget).del(t, "nobody")
		n.expectShut(t, "web")
		n.expectDump(t, pods)
	})
}

// Without the tombstone host-local starts empty and gives out what is held. That
// cannot be undone; it must not get worse, and nobody's DEL may free another's.
func TestHostLocalThatRanBesideATombstoneIsMergedByEachWritingVerb(t *testing.T) {
	t.Parallel()
	for _, verb := range writingVerbs {
		t.Run(verb, func(t *testing.T) {
			n, pods := contracted(t)
			if err := os.Remove(n.dir()); err != nil {
				t.Fatal(err)
			}
			n.theirs().addAt(t, "intruder", pods["web"])
			n.theirs().addAt(t, "guest", guestAddress)

			n.writeNothing(t, verb, pods["web"], append(pods.ids(), "intruder", "guest")...)
			n.expectPhase(t, switched)
			want := maps.Clone(pods)
			want["guest"] = guestAddress
			n.expectHolders(t, want, "intruder", pods["web"])

			want.add(t, n.ours(switched), "new")
			want.add(t, n.theirs(), "newer")
			n.expectHolders(t, want, "intruder", pods["web"])

			n.theirs().del(t, "intruder")
			want.add(t, n.ours(switched), "newest")
			n.expectBoth(t, want)
		})
	}
}

// expectHolders checks what is held, with one more container on an address that
// may have another holder.
func (n network) expectHolders(t *testing.T, want held, more string, at netip.Addr) {
	t.Helper()
	var got, expected []string
	for _, a := range n.stored(t).Allocations {
		got = append(got, a.ContainerID+" "+a.IP.String())
	}
	for id, a := range want {
		expected = append(expected, id+" "+a.String())
	}
	expected = append(expected, more+" "+at.String())
	slices.Sort(got)
	slices.Sort(expected)
	if !slices.Equal(got, expected) {
		t.Errorf("dump shows\n%q\nwant\n%q", got, expected)
	}
	addresses := map[string]bool{at.String(): true}
	for _, a := range want {
		addresses[a.String()] = true
	}
	files := n.reservations(t)
	if got, expected := slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(addresses)); !slices.Equal(got, expected) {
		t.Errorf("host-local's directory has files for %q, want %q", got, expected)
	}
}
