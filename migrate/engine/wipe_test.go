package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
)

// lives is a network in a phase with x, whom the old form's user gave its
// address, and a.
func (n *node) lives(phase engine.Phase) map[string]string {
	n.Helper()
	n.target = phase
	n.older("x", "10.0.0.2")
	n.mustAdd("a", "10.0.0.3")
	return map[string]string{"10.0.0.2": "x", "10.0.0.3": "a"}
}

func TestAfterAWipeTheLivingKeepTheirAddresses(t *testing.T) {
	for name, phase := range mirrored {
		t.Run(name, func(t *testing.T) {
			onEachWipe(t, func(t *testing.T, n *node, wipe enginetest.Wipe) {
				all := n.lives(phase)
				if err := wipe.Do(); err != nil {
					t.Fatal(err)
				}
				n.wantHeld("the view", n.view().held(), all)
				n.idle()
				n.wantTold("wrote 2 allocations")
				n.wantBoth(all)
				stored, _ := n.stored()
				if h := stored[ip("10.0.0.3")].Holders[0]; h.NetNS.Inode == 0 || h.AllocatedAt.IsZero() {
					t.Errorf("what was known of a is lost: %+v", h)
				}
				n.wantPhase(phase)
			})
		})
	}
}

func TestAfterAWipeTheOldFormsUserRanFirst(t *testing.T) {
	for name, phase := range mirrored {
		t.Run(name, func(t *testing.T) {
			onEachWipe(t, func(t *testing.T, n *node, wipe enginetest.Wipe) {
				all := n.lives(phase)
				if err := wipe.Do(); err != nil {
					t.Fatal(err)
				}
				n.older("y", "10.0.0.4")
				n.idle()
				all["10.0.0.4"] = "y"
				n.wantBoth(all)
			})
		})
	}
}

func TestASingleEntryThatIsRemovedIsBelieved(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		all := n.lives(phase)
		for addr := range all {
			if err := n.pair.Old.Remove(ip(addr)); err != nil {
				t.Fatal(err)
			}
		}
		n.wantHeld("the view", n.view().held(), map[string]string{})
		n.idle()
		n.wantTold("freed 2 allocations")
		n.wantBoth(map[string]string{})
	})
}

// What a call writes to the old form is taken back with nothing when the rest
// of it fails: then what is known of the living must not be lost.
func TestAStepThatIsRefusedLosesNothingOfAWipedForm(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		all := n.lives(phase)
		n.wipe(0)
		if err := n.step(1, false); err == nil {
			t.Fatal("a step against the configured target was taken")
		}
		n.idle()
		n.wantBoth(all)
		stored, _ := n.stored()
		if h := stored[ip("10.0.0.3")].Holders[0]; h.NetNS.Inode == 0 || h.Origin != "add" {
			t.Errorf("what was known of a is lost: %+v", h)
		}
	})
}

// What legacy knows is what stands there: not more in the call that steps to it,
// which has written it.
func TestAStepToLegacyKnowsNoNamespacesOfWhatItWroteAgain(t *testing.T) {
	onEachWipe(t, func(t *testing.T, n *node, wipe enginetest.Wipe) {
		n.target, n.subnet = engine.Expand, "10.0.0.0/29" // five addresses
		for i := range 5 {
			id := fmt.Sprintf("p%d", i)
			n.mustAdd(id)
			delete(n.spaces, "/ns/"+id) // and its DEL is lost
		}
		all := n.view().held()
		if err := wipe.Do(); err != nil {
			t.Fatal(err)
		}
		n.target = engine.Legacy
		for range 2 {
			if _, err := n.add("z"); !errors.Is(err, ipam.ErrExhausted) {
				t.Fatalf("ADD: %v", err)
			}
			n.wantPhase(engine.Legacy)
			n.wantHeld("what is held", n.view().held(), all)
		}
	})
}
