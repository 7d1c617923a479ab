package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
)

func TestStepsByHandGoAllTheWayAndBack(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Legacy
		n.mustAdd("a", "10.0.0.2")
		n.target = ""
		n.mustAdd("a")
		all := map[string]string{"10.0.0.2": "a"}
		steps := []struct {
			by   int
			want engine.Phase
		}{
			{1, engine.Expand}, {1, engine.Switch}, {1, engine.Contract},
			{-1, engine.Switch}, {-1, engine.Expand}, {-1, engine.Legacy},
		}
		for _, s := range steps {
			if err := n.step(s.by, true); err != nil {
				t.Fatalf("the step to %s: %v", s.want, err)
			}
			n.wantPhase(s.want)
			n.wantHeld("the view in "+string(s.want), n.view().held(), all)
			if s.want != engine.Contract {
				n.wantHeld("the old form in "+string(s.want), entries(n.look()), all)
			}
			n.idle()
			n.wantPhase(s.want)
		}
		if err := n.step(-1, false); !errors.Is(err, engine.ErrStep) {
			t.Errorf("a step beyond legacy: %v", err)
		}
	})
}

func TestAStepByHandIsRefusedWhereTheConfigurationSaysOtherwise(t *testing.T) {
	type step struct {
		target engine.Phase
		by     int
		taken  bool
	}
	casesOnPairs(t, map[string]step{
		"back from the target":      {engine.Switch, -1, false},
		"forward from the target":   {engine.Switch, 1, false},
		"away from a target behind": {engine.Legacy, 1, false},
		"away from a target ahead":  {engine.Contract, -1, false},
		"towards a target ahead":    {engine.Contract, 1, true},
		"towards a target behind":   {engine.Legacy, -1, true},
		"without a target":          {"", -1, true},
	}, func(t *testing.T, n *node, c step) {
		n.older("x", "10.0.0.2")
		n.older("y", "10.0.0.3")
		n.target = engine.Switch
		n.mustAdd("a", "10.0.0.4")
		n.target = c.target
		if c.target == engine.Legacy {
			n.giveTwice()
		}
		n.mustAdd("a")
		n.wantPhase(engine.Switch) // as a step has to wait, or there is none
		if c.target == engine.Legacy {
			n.mustDel("z")
		}
		err := n.step(c.by, c.by > 0) // force waives another condition
		if c.taken != (err == nil) || (err != nil && !errors.Is(err, engine.ErrStep)) {
			t.Errorf("the step by %d: %v", c.by, err)
		}
		if err != nil && !strings.Contains(err.Error(), string(c.target)) {
			t.Errorf("the error does not name the target: %v", err)
		}
	})
}

// giveTwice gives x's address to z too, which makes steps down wait.
func (n *node) giveTwice() {
	n.Helper()
	n.wipe(0)
	n.older("z", "10.0.0.2")
}

func TestANetworkThatIsNotStoredHasNoSteps(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.write(func(form.New) error { return nil })
		n.older("x", "10.0.0.2")
		for _, by := range []int{1, -1} {
			if err := n.step(by, true); !errors.Is(err, engine.ErrUnknown) {
				t.Errorf("the step by %d: %v", by, err)
			}
		}
		if n.view().Known {
			t.Error("a step made the network known")
		}
	})
}

func TestAnEmptyNetworkGoesBackFromContract(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.orphaned = true
		if got, err := n.add("a"); err == nil {
			t.Fatalf("a was given %s", got)
		}
		n.wantPhase(engine.Contract)
		if err := n.step(-1, false); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			n.wantPhase(engine.Switch)
			n.idle()
		}
		n.older("x", "10.0.0.2")
		n.idle()
		n.wantBoth(map[string]string{"10.0.0.2": "x"})
	})
}

// A node to which no ADD will come goes back all the same.
func TestAForcedStepBackStaysUntilAnAdd(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Switch
		n.older("x", "10.0.0.2")
		n.mustAdd("a", "10.0.0.3")
		for _, want := range []engine.Phase{engine.Expand, engine.Legacy} {
			if err := n.step(-1, true); err != nil {
				t.Fatal(err)
			}
			n.idle()
			n.wantPhase(want)
		}
		all := map[string]string{"10.0.0.2": "x", "10.0.0.3": "a"}
		n.wantHeld("the view", n.view().held(), all)
		n.wantHeld("the old form", entries(n.look()), all)
		n.mustAdd("a")
		n.wantPhase(engine.Expand)
	})
}

// In legacy nobody knows of which boot an entry is.
func TestAStepToLegacyLeavesNobodyOfAnEarlierBoot(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Expand
		n.mustAdd("a", "10.0.0.3")
		n.target = ""
		n.mustAdd("a")
		n.reboot()
		if err := n.step(-1, false); err != nil {
			t.Fatal(err)
		}
		n.wantPhase(engine.Legacy)
		n.wantHeld("the old form", entries(n.look()), map[string]string{})
		n.wantHeld("the view", n.view().held(), map[string]string{})
	})
}

// A swap that failed is done by whoever asks for the same step again, and is no
// second step.
func TestAStepByHandThatWasCutIsEndedByTheNext(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Switch
		a := n.mustAdd("a")
		n.target = ""
		n.mustAdd("a")
		n.tamper = func(o form.Old) form.Old { return tampered{Old: o, shut: errors.New("input/output error")} }
		if err := n.step(1, true); err != nil {
			t.Log(err)
		}
		n.wantPhase(engine.Switch)
		n.tamper = nil
		if err := n.step(1, true); err != nil {
			t.Errorf("the same step again: %v", err)
		}
		n.wantPhase(engine.Contract)
		n.wantHeld("the view", n.view().held(), map[string]string{a: "a"})
	})
}

// The records are all that is left of a form that was wiped and cannot be written.
func TestAStepByHandFailsWhereALostFormCannotBeMade(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Expand
		a := n.mustAdd("a")
		n.target = ""
		n.mustAdd("a")
		n.wipe(0)
		n.cannotSwap(tampered{make: errFull})
		if err := n.step(-1, false); !errors.Is(err, errFull) {
			t.Errorf("the step: %v", err)
		}
		n.tamper = nil
		n.wantPhase(engine.Expand)
		n.wantHeld("the view", n.view().held(), map[string]string{a: "a"})
		if got, err := n.add("b", a); err == nil {
			t.Errorf("b was given %s, which a has", got)
		}
		n.wantBoth(map[string]string{a: "a"})
	})
}
