package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

func TestOnlyAnAddTakesAStepAndOneAtATime(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Legacy
		n.mustAdd("a")
		n.target = engine.Contract
		for _, want := range []engine.Phase{engine.Expand, engine.Switch, engine.Contract} {
			before := n.view().Progress.Phase
			n.idle()
			if err := n.gc("a"); err != nil {
				t.Fatal(err)
			}
			n.operatorCall()
			n.wantPhase(before)
			n.mustAdd("a")
			n.wantPhase(want)
		}
		n.target = ""
		n.mustAdd("a")
		n.wantPhase(engine.Contract)
		n.target = engine.Legacy
		for _, want := range []engine.Phase{engine.Switch, engine.Expand, engine.Legacy, engine.Legacy} {
			n.mustAdd("a")
			n.wantPhase(want)
		}
	})
}

func TestContractWaitsForWhatTheOldFormsUsersMade(t *testing.T) {
	casesOnPairs(t, map[string]func(*node){
		"until DEL from the runtime": func(n *node) { n.mustDel("x") },
		"until their own DEL":        func(n *node) { n.olderDel("x") },
		"until GC":                   func(n *node) { _ = n.gc("a") },
		"until the next boot":        func(n *node) { n.reboot() },
		"until their ADD comes here": func(n *node) { n.mustAdd("x") },
	}, func(t *testing.T, n *node, goes func(*node)) {
		n.older("x", "10.0.0.2")
		n.target = engine.Contract
		for range 3 {
			n.mustAdd("a")
			n.wantPhase(engine.Switch)
		}
		n.wantWaits("1 allocation made by")
		n.mustAdd("b") // no ADD fails meanwhile
		goes(n)
		n.mustAdd("a")
		n.wantPhase(engine.Contract)
		n.wantWaits("")
	})
}

func TestForceGoesToContractAllTheSame(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.older("x", "10.0.0.2")
		n.target = engine.Contract
		n.mustAdd("a", "10.0.0.3")
		n.mustAdd("a")
		n.wantWaits("made by")
		if err := n.step(1, false); !errors.Is(err, engine.ErrStep) || !strings.Contains(err.Error(), "made by") {
			t.Errorf("without force: %v", err)
		}
		if err := n.step(1, true); err != nil {
			t.Fatal(err)
		}
		n.wantPhase(engine.Contract)
		n.wantWaits("")
		n.wantHeld("the view", n.view().held(), map[string]string{"10.0.0.2": "x", "10.0.0.3": "a"})
	})
}

func TestContractWaitsForADifference(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Switch
		n.mustAdd("a", blockedAddr)
		n.wipe(0)
		n.block(blockedAddr, false)
		n.target = engine.Contract
		n.mustAdd("b", "10.0.0.9")
		n.wantPhase(engine.Switch)
		n.wantWaits(blockedAddr)
		if err := n.step(1, true); !errors.Is(err, engine.ErrStep) {
			t.Errorf("force waives it: %v", err)
		}
		if err := n.pair.Old.Remove(ip(blockedAddr)); err != nil {
			t.Fatal(err)
		}
		n.mustAdd("b")
		n.wantPhase(engine.Contract)
		n.wantHeld("the view", n.view().held(), map[string]string{blockedAddr: "a", "10.0.0.9": "b"})
	})
}

func TestAStepThatFailsInTheMiddleIsNotTaken(t *testing.T) {
	type step struct{ from, to engine.Phase }
	casesOnPairs(t, map[string]step{
		"legacy to expand": {engine.Legacy, engine.Expand},
		"expand to legacy": {engine.Expand, engine.Legacy},
	}, func(t *testing.T, n *node, c step) {
		n.older("x", "10.0.0.2")
		n.older("y", "10.0.0.3")
		n.target = c.from
		n.mustAdd("a", "10.0.0.4")
		all := map[string]string{"10.0.0.2": "x", "10.0.0.3": "y", "10.0.0.4": "a"}
		n.target = c.to
		n.failWrites = 2
		if _, err := n.add("b"); err == nil {
			t.Error("the ADD succeeded")
		}
		n.failWrites = 0
		n.wantHeld("the view", n.view().held(), all)
		n.wantHeld("the old form", entries(n.look()), all)
		got := n.mustAdd("b")
		if all[got] != "" {
			t.Errorf("b was given %s, which %s holds", got, all[got])
		}
		n.wantPhase(c.to)
	})
}

func TestAnotherPlaceIsRefused(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Switch
		n.mustAdd("a", "10.0.0.2")
		before := n.tree()
		pair := n.pair
		n.pair.Old = elsewhere{pair.Old}
		if _, err := n.add("b"); !errors.Is(err, engine.ErrPlace) || ipam.CodeOf(err) != ipam.CodeConfig ||
			!strings.Contains(err.Error(), pair.Old.Path()) || !strings.Contains(err.Error(), n.pair.Old.Path()) {
			t.Errorf("the ADD failed with %v", err)
		}
		n.wantHeld("the files", n.tree(), before)
		n.mustDel("a") // runtimes send it with the configuration of its ADD
		n.pair = pair
		n.wantBoth(map[string]string{})
	})
}

// elsewhere is where another configuration has the old form.
type elsewhere struct{ enginetest.Older }

func (e elsewhere) Path() string { return e.Older.Path() + "-elsewhere" }

func TestUpdateOldFreesWhereNothingCanBeStored(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.older("x", "10.0.0.2")
		n.older("y", "10.0.0.3")
		call := n.engineCall(nil)
		call.Runtime = true
		err := n.engine().UpdateOld(call, func(tx ipam.Tx) error {
			held, err := tx.HeldBy(eth0("x"))
			if len(held) != 1 {
				t.Errorf("x holds %v", held)
			}
			return errors.Join(err, tx.Delete(ip("10.0.0.2")))
		})
		if err != nil {
			t.Fatal(err)
		}
		n.wantHeld("the old form", entries(n.look()), map[string]string{"10.0.0.3": "y"})
		if n.view().Known {
			t.Error("the network is known")
		}
	})
}

func TestTheRangesAreThoseOfTheLastAdd(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.mustAdd("a")
		n.subnet = "10.0.9.0/24"
		n.mustAdd("b")
		n.write(func(tx form.New) error {
			sets, err := tx.Ranges()
			if len(sets) != 1 || !slices.ContainsFunc(sets[0], func(r record.Range) bool { return r.Subnet.String() == n.subnet }) {
				t.Errorf("stored: %v", sets)
			}
			return err
		})
	})
}
