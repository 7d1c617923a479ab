package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// thieves take the address that is about to be given out, without the lock, the
// first times that something is written.
func (n *node) thieves(times int) {
	stolen := 0
	n.tamper = func(o form.Old) form.Old {
		return tampered{Old: o, beforeApply: func(changes []form.Change) {
			for _, c := range changes {
				if c.Want == nil || c.Had != nil || stolen == times {
					continue
				}
				stolen++
				if err := n.pair.Old.Seize(eth0(fmt.Sprint("thief", stolen)), c.Addr); err != nil {
					n.Fatalf("%v", err)
				}
			}
		}}
	}
}

func TestAnAddressThatIsTakenInBetweenIsNotGivenOut(t *testing.T) {
	for _, thieves := range []int{1, 2} {
		t.Run(fmt.Sprint("times ", thieves), func(t *testing.T) {
			casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
				n.target = phase
				n.older("x", "10.0.0.9")
				n.idle()
				n.thieves(thieves)
				got := n.mustAdd("a")
				n.tamper = nil
				all := map[string]string{"10.0.0.9": "x", got: "a"}
				for addr, holder := range entries(n.look()) {
					if addr != "10.0.0.9" && addr != got {
						all[addr] = holder
					}
				}
				if len(all) != 2+thieves {
					t.Errorf("the old form: %v", entries(n.look()))
				}
				n.wantHeld("the view", n.view().held(), all)
				n.wantHeld("the old form", entries(n.look()), all)
				if phase != engine.Legacy {
					n.wantBoth(all)
				}
			})
		})
	}
}

func TestAnAddThatIsAlwaysTooLateLeavesNothingHalfDone(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.older("x", "10.0.0.9")
		n.idle()
		n.thieves(99)
		_, err := n.add("a")
		if !errors.Is(err, form.ErrTaken) || ipam.CodeOf(err) != ipam.CodeTryAgain {
			t.Errorf("the ADD failed with %v", err)
		}
		n.tamper = nil
		all := entries(n.look())
		if len(all) != 4 { // it was tried three times
			t.Errorf("the old form: %v", all)
		}
		n.wantHeld("the view", n.view().held(), all)
		n.idle()
		n.wantHeld("the view after the next call", n.view().held(), all)
		if phase != engine.Legacy {
			n.wantBoth(all)
		}
		for _, holder := range all {
			if holder == "a" {
				t.Errorf("a holds something: %v", all)
			}
		}
		if got := n.mustAdd("a"); all[got] != "" {
			t.Errorf("a was given %s, which %s holds", got, all[got])
		}
	})
}

// Another attachment's entry stands at the address by the time of a DEL.
func TestADelOfWhatWasReplacedInBetween(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		addr := n.mustAdd("a")
		replaced := false
		n.tamper = func(o form.Old) form.Old {
			return tampered{Old: o, beforeApply: func([]form.Change) {
				if replaced {
					return
				}
				replaced = true
				if err := errors.Join(n.pair.Old.Remove(ip(addr)), n.pair.Old.Seize(eth0("b"), ip(addr))); err != nil {
					n.Fatalf("%v", err)
				}
			}}
		}
		n.mustDel("a")
		n.tamper = nil
		all := map[string]string{addr: "b"}
		n.wantHeld("the old form", entries(n.look()), all)
		n.wantHeld("the view", n.view().held(), all)
		n.idle()
		n.wantHeld("the view after the next call", n.view().held(), all)
	})
}

// What a wiped form is given again may be taken in between, too.
func TestARestoredAddressThatIsTakenInBetween(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.mustAdd("a", "10.0.0.2")
		n.wipe(0)
		n.thieves(1)
		err := n.plugin().Del(n.call("nobody", ""))
		if err != nil && ipam.CodeOf(err) != ipam.CodeTryAgain {
			t.Errorf("the call ended with %v", err)
		}
		n.tamper = nil
		n.idle()
		n.wantHeld("the new form", held(n.stored()), map[string]string{"10.0.0.2": "a+thief1"})
		n.wantHeld("the old form", entries(n.look()), map[string]string{"10.0.0.2": "thief1"})
	})
}
