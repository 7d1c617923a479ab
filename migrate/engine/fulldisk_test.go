package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/engine"
)

var (
	errFull   = errors.New("the disk is full")
	errCommit = errors.New("the commit failed")
)

func TestAnAddThatCannotBeCommittedIsTakenBack(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.older("x", "10.0.0.9")
		n.idle()
		for _, failure := range []error{errFull, errCommit} {
			n.failCommit = failure
			if got, err := n.add("a"); !errors.Is(err, failure) {
				t.Errorf("the ADD was answered %s, %v", got, err)
			}
			n.failCommit = nil
			all := map[string]string{"10.0.0.9": "x"}
			n.wantHeld("the old form", entries(n.look()), all)
			n.wantHeld("the view", n.view().held(), all)
			n.idle()
			n.wantHeld("the view after the next call", n.view().held(), all)
		}
		n.mustAdd("a", "10.0.0.2")
		n.wantHeld("the old form", entries(n.look()), map[string]string{"10.0.0.2": "a", "10.0.0.9": "x"})
	})
}

// The same attachment had the address before, and in another boot another had.
func TestAnAddThatIsTakenBackLeavesWhatWasThere(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.mustAdd("a", "10.0.0.2")
		n.failCommit = errCommit
		if got, err := n.add("a"); err == nil && got != "10.0.0.2" {
			t.Errorf("a has 10.0.0.2, and was answered %s", got)
		}
		n.failCommit = nil
		n.idle()
		n.wantBoth(map[string]string{"10.0.0.2": "a"})

		n.reboot()
		n.failCommit = errCommit
		if got, err := n.add("b", "10.0.0.2"); err == nil {
			t.Errorf("b was answered %s", got)
		}
		n.failCommit = nil
		n.idle()
		if got := entries(n.look())["10.0.0.2"]; got == "b" {
			t.Error("b, which was answered nothing, holds an address")
		}
		n.mustAdd("c", "10.0.0.2")
		n.wantBoth(map[string]string{"10.0.0.2": "c"})
	})
}

func TestADelOnAFullDiskFreesAllTheSame(t *testing.T) {
	for name, call := range map[string]func(*node) error{
		"DEL":                 func(n *node) error { return n.del("a") },
		"GC":                  func(n *node) error { return n.gc("x") },
		"DEL of what is gone": func(n *node) error { n.olderDel("a"); return n.del("a") },
	} {
		t.Run(name, func(t *testing.T) {
			casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
				n.lives(phase)
				n.failCommit = errFull
				if err := call(n); err != nil {
					t.Errorf("%v", err)
				}
				rest := map[string]string{"10.0.0.2": "x"}
				n.wantHeld("the old form", entries(n.look()), rest)
				n.wantHeld("the view", n.view().held(), rest)
				n.failCommit = nil
				n.idle()
				n.wantBoth(rest)
				n.mustAdd("b", "10.0.0.3")
			})
		})
	}
}

func TestADelThatCannotBeCommittedForAnotherReasonFails(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		n.lives(phase)
		n.failCommit = errCommit
		if err := n.del("a"); !errors.Is(err, errCommit) {
			t.Errorf("the DEL ended with %v", err)
		}
		n.failCommit = nil
		n.mustDel("a") // as the runtime does
		n.wantBoth(map[string]string{"10.0.0.2": "x"})
	})
}

func TestAWriteThatFailsLeavesNothingHalfDone(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		all := n.lives(phase)
		for failing := 1; ; failing++ {
			n.failWrites = failing
			got, err := n.add("b")
			if n.failWrites = 0; err == nil {
				if failing == 1 && phase != engine.Legacy {
					t.Error("no write failed")
				}
				all[got] = "b"
				break
			}
			n.wantHeld("the old form", entries(n.look()), all)
			n.wantHeld("the view", n.view().held(), all)
			n.idle()
			n.wantHeld("the view after the next call", n.view().held(), all)
		}
		n.wantHeld("the old form", entries(n.look()), all)
		for failing := 1; ; failing++ {
			n.failWrites = failing
			err := n.del("a")
			n.failWrites = 0
			rest := n.view().held()
			if err == nil {
				delete(all, "10.0.0.3")
			}
			n.wantHeld("the view", rest, all)
			n.wantHeld("the old form", entries(n.look()), all)
			if err == nil {
				break
			}
			n.idle()
			n.wantHeld("the view after the next call", n.view().held(), all)
		}
	})
}

// An ADD takes addresses back from dead pods, all of them or the one that it asks
// for, and cannot be committed: they are dead still, for the next one.
func TestTheDeadAreKnownAfterAnADDThatCouldNotBeCommitted(t *testing.T) {
	type story struct {
		phase engine.Phase
		asked []string
	}
	casesOnPairs(t, map[string]story{
		"full, in expand":      {engine.Expand, nil},
		"full, in switch":      {engine.Switch, nil},
		"requested, in expand": {engine.Expand, []string{"10.0.0.3"}},
		"requested, in switch": {engine.Switch, []string{"10.0.0.3"}},
	}, func(t *testing.T, n *node, c story) {
		n.target, n.subnet = c.phase, "10.0.0.0/29"
		for i := range 5 {
			id := fmt.Sprintf("p%d", i)
			n.mustAdd(id)
			delete(n.spaces, "/ns/"+id) // and its DEL is lost
		}
		n.failCommit = errFull
		if _, err := n.add("new", c.asked...); !errors.Is(err, errFull) {
			t.Fatalf("ADD: %v", err)
		}
		n.failCommit = nil
		n.mustAdd("new", c.asked...)
	})
}
