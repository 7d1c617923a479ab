package engine_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
)

const blockedAddr = "10.0.0.3"

var written = map[string]engine.Phase{"legacy": engine.Legacy, "expand": engine.Expand, "switch": engine.Switch}

// blocks is a network whose old form has x and something that names no holder.
func (n *node) blocks(phase engine.Phase, fixed bool) {
	n.Helper()
	n.subnet = "10.0.0.0/29" // .2 to .6
	n.target = phase
	n.older("x", "10.0.0.2")
	n.block(blockedAddr, fixed)
}

func TestWhatNamesNoHolderIsNotGivenOut(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		n.blocks(phase, false)
		n.wantHeld("the view", n.view().held(), map[string]string{"10.0.0.2": "x"})
		var got []string
		for _, id := range []string{"a", "b", "c"} {
			got = append(got, n.mustAdd(id))
			if told := strings.Contains(strings.Join(n.told, "\n"), blockedAddr); told != (id == "a") {
				t.Errorf("ADD %s said %q; want it said once", id, n.told)
			}
		}
		if slices.Sort(got); !slices.Equal(got, []string{"10.0.0.4", "10.0.0.5", "10.0.0.6"}) {
			t.Errorf("given out: %v", got)
		}
		if got, err := n.add("d"); ipam.CodeOf(err) != ipam.CodeTryAgain {
			t.Errorf("beyond that: %s, %v", got, err)
		}
		_, err := n.add("d", blockedAddr)
		if !errors.Is(err, engine.ErrAside) || ipam.CodeOf(err) != ipam.CodeRequestedTaken || !strings.Contains(err.Error(), blockedAddr) {
			t.Errorf("asked for: %v", err)
		}
		n.wantHeld("the old form", entries(n.look()), map[string]string{"10.0.0.2": "x", blockedAddr: "!", got[0]: n.view().held()[got[0]], got[1]: n.view().held()[got[1]], got[2]: n.view().held()[got[2]]})
	})
}

func TestWhatNamesNoHolderIsFreeInTheNextBoot(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		n.blocks(phase, false)
		n.idle()
		n.reboot()
		n.mustAdd("a", blockedAddr)
		if got := entries(n.look())[blockedAddr]; got != "a" {
			t.Errorf("the old form has %q at %s", got, blockedAddr)
		}
		n.mustDel("a")
		if got, there := entries(n.look())[blockedAddr]; there {
			t.Errorf("after DEL the old form has %q at %s", got, blockedAddr)
		}
	})
}

// What was seen by nobody in the boot in which it was left is of the boot in
// which it is found.
func TestWhatIsFoundInALaterBootIsOfThatBoot(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		n.blocks(phase, false)
		n.idle()
		n.block("10.0.0.4", false)
		n.reboot()
		n.idle()
		n.mustAdd("a", blockedAddr)
		if got, err := n.add("b", "10.0.0.4"); !errors.Is(err, engine.ErrAside) {
			t.Errorf("b: %s, %v", got, err)
		}
	})
}

func TestWhatCannotBeReplacedIsNeverGivenOut(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		n.blocks(phase, true)
		for range 3 {
			if got, err := n.add("a", blockedAddr); !errors.Is(err, engine.ErrAside) {
				t.Errorf("a: %s, %v", got, err)
			}
			n.reboot()
		}
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			if got, err := n.add(id); got == blockedAddr {
				t.Errorf("%s was given %s, %v", id, got, err)
			}
		}
	})
}

func TestWhatIsRemovedByHandBlocksNoMore(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		n.blocks(phase, true)
		n.mustAdd("a", "10.0.0.6")
		if err := n.pair.Old.Remove(ip(blockedAddr)); err != nil {
			t.Fatal(err)
		}
		n.mustAdd("b", blockedAddr)
		if v := n.view(); len(v.Progress.SetAside) != 0 {
			t.Errorf("still set aside: %v", v.Progress.SetAside)
		}
	})
}

// A holder whose entry is lost while something stands in its place stays a
// holder, and can be freed.
func TestAHolderWhoseAddressIsBlocked(t *testing.T) {
	for name, fixed := range map[string]bool{"": false, " by what cannot be replaced": true} {
		t.Run("blocked"+name, func(t *testing.T) {
			casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
				all := n.lives(phase)
				n.wipe(0)
				n.older("y", "10.0.0.9")
				n.block(blockedAddr, fixed) // a's
				n.idle()
				all["10.0.0.9"] = "y"
				n.wantHeld("the view", n.view().held(), all)
				if got := n.mustAdd("a"); got != blockedAddr {
					t.Errorf("a holds %s, and was answered %s", blockedAddr, got)
				}
				delete(n.spaces, "/ns/a") // nomad repeats an ADD with a new namespace
				if got, err := n.add("a"); got != blockedAddr {
					t.Errorf("a holds %s, and was answered %s, %v", blockedAddr, got, err)
				}
				n.target = engine.Contract
				if phase == engine.Switch {
					n.mustAdd("a")
					n.wantPhase(engine.Switch)
					n.wantWaits("differ")
				}
				n.target = phase
				n.mustDel("a")
				rest := maps.Clone(all)
				delete(rest, blockedAddr)
				n.wantHeld("the view after DEL", n.view().held(), rest)
				if got := entries(n.look())[blockedAddr]; got != "!" {
					t.Errorf("what stood at %s is now %q, and it named nobody", blockedAddr, got)
				}
			})
		})
	}
}

// What the attachment had in an earlier boot is no claim on what is blocked now.
func TestAnAddressOfAnEarlierBootThatIsBlockedNow(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		n.lives(phase)
		n.reboot()
		n.idle()
		n.block(blockedAddr, false)
		if got, err := n.add("a", blockedAddr); !errors.Is(err, engine.ErrAside) {
			t.Errorf("a asked for it: %s, %v", got, err)
		}
		got := n.mustAdd("a")
		if got == blockedAddr {
			t.Errorf("a was given %s", got)
		}
		if says := entries(n.look()); says[blockedAddr] != "!" || says[got] != "a" {
			t.Errorf("the old form: %v", says)
		}
	})
}
