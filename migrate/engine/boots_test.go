package engine_test

import (
	"errors"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
)

var mirrored = map[string]engine.Phase{"expand": engine.Expand, "switch": engine.Switch}

// operatorCall is a call by hand that changes nothing.
func (n *node) operatorCall() {
	n.Helper()
	if err := n.update(enginetest.Op{Verb: "release"}, n.engineCall(nil), func(ipam.Tx) error { return nil }); err != nil {
		n.Fatalf("an operator's call failed: %v", err)
	}
}

func TestEntriesOfEarlierBootsLeaveAtARuntimesFirstCall(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.older("x", "10.0.0.2")
		n.mustAdd("a", "10.0.0.3")
		all := map[string]string{"10.0.0.2": "x", "10.0.0.3": "a"}
		n.wantBoth(all)

		n.reboot()
		previous := map[string]string{"10.0.0.2": "(x)", "10.0.0.3": "(a)"}
		n.wantHeld("the view after the boot", n.view().held(), previous)
		n.operatorCall()
		n.wantHeld("the old form after an operator's call", entries(n.look()), all)
		n.wantHeld("the view after an operator's call", n.view().held(), previous)

		n.mustAdd("b", "10.0.0.9")
		n.wantBoth(map[string]string{"10.0.0.9": "b"}, previous)
		if got := n.mustAdd("a"); got != "10.0.0.3" {
			t.Errorf("a was given %s in the next boot, and 10.0.0.3 was free", got)
		}
		if got := n.mustAdd("x"); got != "10.0.0.2" {
			t.Errorf("x was given %s in the next boot, and 10.0.0.2 was free", got)
		}
		n.wantBoth(map[string]string{"10.0.0.2": "x", "10.0.0.3": "a", "10.0.0.9": "b"})
	})
}

func TestAnAddressOfAnEarlierBootIsFreeForAnother(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.mustAdd("a", "10.0.0.3")
		n.reboot()
		n.mustAdd("b", "10.0.0.3")
		n.wantBoth(map[string]string{"10.0.0.3": "b"})
		n.mustDel("a") // late
		n.wantBoth(map[string]string{"10.0.0.3": "b"})
	})
}

func TestALivingNamespaceIsOfNoEarlierBoot(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.older("x", "10.0.0.2")
		n.mustAdd("a", "10.0.0.3")
		n.boot++ // as another boot id's view has it
		n.idle()
		n.wantBoth(map[string]string{"10.0.0.3": "a"}, map[string]string{"10.0.0.2": "(x)"})
		if got, err := n.add("b", "10.0.0.3"); err == nil {
			t.Errorf("b was given %s, and a lives", got)
		}
		if got := n.mustAdd("a"); got != "10.0.0.3" {
			t.Errorf("a, which lives, was given %s", got)
		}
	})
}

// The allocation of two holders is of the boot in which the second came.
func TestASecondHolderOfAnEarlierBootsAddressIsOfThisBoot(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.mustAdd("a", "10.0.0.3")
		n.boot++ // a lives on
		n.wipe(0)
		n.older("b", "10.0.0.3")
		n.idle()
		n.wantHeld("the new form", held(n.stored()), map[string]string{"10.0.0.3": "a+b"})
		delete(n.spaces, "/ns/a")
		if got, err := n.add("c", "10.0.0.3"); err == nil {
			t.Errorf("c was given %s, and b lives", got)
		}
		n.wantHeld("the view", n.view().held(), map[string]string{"10.0.0.3": "a+b"})
	})
}

func TestTheOldFormsUserRunsFirstInABoot(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.mustAdd("a", "10.0.0.3")
		n.mustAdd("b", "10.0.0.4")
		n.reboot()
		n.olderDel("a") // late
		n.older("c", "10.0.0.3")
		n.wantHeld("the view", n.view().held(), map[string]string{"10.0.0.3": "c", "10.0.0.4": "(b)"})
		n.idle()
		n.wantBoth(map[string]string{"10.0.0.3": "c"}, map[string]string{"10.0.0.4": "(b)"})
	})
}

// The very same bytes, of the very same container, are another allocation.
func TestAnAddressIsGivenOnWithTheVerySameBytes(t *testing.T) {
	for name, boots := range map[string]int{"in the same boot": 0, "after a reboot": 1} {
		t.Run(name, func(t *testing.T) {
			casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
				n.target = phase
				n.mustAdd("a", "10.0.0.3")
				for range boots {
					n.reboot()
				}
				if err := n.pair.Old.Renew(ip("10.0.0.3")); err != nil {
					t.Fatal(err)
				}
				n.wantHeld("the view", n.view().held(), map[string]string{"10.0.0.3": "a"})
				n.idle()
				n.wantBoth(map[string]string{"10.0.0.3": "a"})
				if got, err := n.add("b", "10.0.0.3"); err == nil {
					t.Errorf("%s was given to b, and its holder lives", got)
				}
				all, _ := n.stored()
				if h := all[ip("10.0.0.3")].Holders[0]; h.NetNS.Inode != 0 || !h.AllocatedAt.IsZero() {
					t.Errorf("the new holder has what was known of the old one: %+v", h)
				}
				n.idle()
				n.wantBoth(map[string]string{"10.0.0.3": "a"})
			})
		})
	}
}

func TestInLegacyABootChangesNothing(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Legacy
		n.older("x", "10.0.0.2")
		n.mustAdd("a", "10.0.0.3")
		n.reboot()
		n.mustAdd("b", "10.0.0.9")
		all := map[string]string{"10.0.0.2": "x", "10.0.0.3": "a", "10.0.0.9": "b"}
		n.wantHeld("the old form", entries(n.look()), all)
		n.wantHeld("the view", n.view().held(), all)

		n.target = engine.Expand
		n.mustAdd("b")
		n.wantPhase(engine.Expand)
		n.wantBoth(all) // and all is of this boot
		n.idle()
		n.wantBoth(all)
		n.reboot()
		n.idle()
		n.wantBoth(map[string]string{}, map[string]string{"10.0.0.2": "(x)", "10.0.0.3": "(a)", "10.0.0.9": "(b)"})
	})
}

// podman wipes the old form's parent at each boot.
func TestTheOldFormIsWipedWithTheBoot(t *testing.T) {
	for name, phase := range mirrored {
		t.Run(name, func(t *testing.T) {
			onEachWipe(t, func(t *testing.T, n *node, wipe enginetest.Wipe) {
				n.target = phase
				n.older("x", "10.0.0.2")
				n.mustAdd("a", "10.0.0.3")
				n.reboot()
				if err := wipe.Do(); err != nil {
					t.Fatal(err)
				}
				n.older("y", "10.0.0.3")
				n.idle()
				n.wantBoth(map[string]string{"10.0.0.3": "y"}, map[string]string{"10.0.0.2": "(x)"})
			})
		})
	}
}

// onEachWipe runs a test on each pair and with each way to lose its old form.
func onEachWipe(t *testing.T, test func(*testing.T, *node, enginetest.Wipe)) {
	t.Helper()
	t.Parallel()
	for _, m := range enginetest.Pairs {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			for i, w := range newNode(t, m).pair.Old.Wipes() {
				t.Run(w.Name, func(t *testing.T) {
					n := newNode(t, m)
					test(t, n, n.pair.Old.Wipes()[i])
				})
			}
		})
	}
}

// What only frees claims nothing: another checkpoint may have the network by now.
func TestInContractTheFirstADDOfABootRenewsTheTombstone(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.mustAdd("a", "10.0.0.3")
		n.wantPhase(engine.Contract)
		before := n.bootID()
		n.reboot()
		ofBoot := func(after, want string) {
			t.Helper()
			if shut := n.look().Shut; shut == nil || shut.BootID != want {
				t.Errorf("after %s the tombstone is %+v, want that of %s", after, shut, want)
			}
		}
		n.idle()
		ofBoot("a DEL", before)
		if err := n.gc("a"); err != nil {
			t.Fatal(err)
		}
		ofBoot("a GC", before)
		n.wantHeld("the view", n.view().held(), map[string]string{"10.0.0.3": "(a)"})
		n.mustAdd("c", "10.0.0.4")
		ofBoot("an ADD", n.bootID())
		n.mustDel("c")
		n.target = engine.Switch
		n.mustAdd("b", "10.0.0.9")
		n.wantPhase(engine.Switch)
		n.wantHeld("the old form", entries(n.look()), map[string]string{"10.0.0.9": "b"})
		n.idle()
		n.wantBoth(map[string]string{"10.0.0.9": "b"}, map[string]string{"10.0.0.3": "(a)"})
	})
}

func TestABootThatOnlyAnOperatorHasSeenYet(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.mustAdd("a", "10.0.0.3")
		n.reboot()
		if err := n.step(-1, false); err != nil { // from contract
			t.Fatal(err)
		}
		n.wantPhase(engine.Switch)
		n.wantHeld("the old form", entries(n.look()), map[string]string{})
		n.older("b", "10.0.0.3")
		n.idle()
		n.wantBoth(map[string]string{"10.0.0.3": "b"})
	})
}

// In legacy they would be held for ever.
func TestWhatEarlierBootsHaveLeftMakesLegacyWait(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Expand
		n.mustAdd("a", "10.0.0.3")
		n.reboot()
		n.target = engine.Legacy
		n.cannotSwap(tampered{unremovable: errors.New("input/output error")})
		n.mustAdd("b", "10.0.0.9")
		n.wantPhase(engine.Expand)
		n.wantWaits("earlier boots")
		if err := n.step(-1, false); !errors.Is(err, engine.ErrStep) {
			t.Errorf("a step by hand: %v", err)
		}
		n.wantPhase(engine.Expand)
		n.tamper = nil
		n.mustAdd("b")
		n.wantPhase(engine.Legacy)
		n.wantWaits("")
		n.wantHeld("the old form", entries(n.look()), map[string]string{"10.0.0.9": "b"})
	})
}
