package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// anyCall are the calls that put right what has happened to a shut form.
var anyCall = map[string]func(*node) error{
	"ADD": func(n *node) error { _, err := n.add("a"); return err },
	"DEL": func(n *node) error { return n.del("nobody") },
	"GC":  func(n *node) error { return n.gc("a", "outsider") },
}

// shutOld is a network in contract with a.
func (n *node) shutOld() {
	n.Helper()
	n.mustAdd("a", "10.0.0.2")
	n.wantPhase(engine.Contract)
	if n.look().Shut == nil {
		n.Fatalf("the old form is not shut: %+v", n.look())
	}
}

func TestATombstoneThatVanishedIsPutBack(t *testing.T) {
	casesOnPairs(t, anyCall, func(t *testing.T, n *node, call func(*node) error) {
		n.shutOld()
		for _, boots := range []int{0, 1} { // podman removes it with the boot
			for range boots {
				n.reboot()
			}
			if err := n.pair.Old.Unshut(); err != nil {
				t.Fatal(err)
			}
			n.wantPhase(engine.Contract)
			if err := call(n); err != nil {
				t.Fatal(err)
			}
			n.wantPhase(engine.Contract)
			if shut := n.look().Shut; shut == nil || shut.BootID != n.bootID() {
				t.Errorf("the tombstone is %+v", shut)
			}
		}
	})
}

func TestABareFormCountsAsNone(t *testing.T) {
	casesOnPairs(t, anyCall, func(t *testing.T, n *node, call func(*node) error) {
		n.shutOld()
		wipes := n.pair.Old.Wipes()
		if err := errors.Join(n.pair.Old.Unshut(), wipes[len(wipes)-1].Do()); err != nil {
			t.Fatal(err)
		}
		n.wantPhase(engine.Contract)
		if err := call(n); err != nil {
			t.Fatal(err)
		}
		n.wantPhase(engine.Contract)
		if n.look().Shut == nil {
			t.Errorf("the old form is open: %+v", n.look())
		}
	})
}

func TestTheOldFormsUserRanBesideAShutForm(t *testing.T) {
	for name, c := range map[string]struct {
		addr string // the user's address
		idle bool   // a call was between the swap and the user
		says string
	}{
		"with an address of its own, right after the swap": {"10.0.0.9", false, "was changed by another"},
		"with an address of its own":                       {"10.0.0.9", true, "in use again although it was shut"},
		"with the same address, right after the swap":      {"10.0.0.2", false, "was changed by another"},
		"with the same address":                            {"10.0.0.2", true, "in use again although it was shut"},
	} {
		t.Run(name, func(t *testing.T) {
			casesOnPairs(t, anyCall, func(t *testing.T, n *node, call func(*node) error) {
				n.shutOld()
				if c.idle {
					n.idle()
				}
				if err := n.pair.Old.Unshut(); err != nil {
					t.Fatal(err)
				}
				old := map[string]string{"10.0.0.2": "a", c.addr: "outsider"}
				all := map[string]string{"10.0.0.2": "a", c.addr: "outsider"}
				if c.addr == "10.0.0.2" {
					all[c.addr] = "a+outsider"
				}
				n.older("outsider", c.addr)
				n.wantPhase(engine.Switch)
				n.wantHeld("the view before the call", n.view().held(), all)
				if err := call(n); err != nil {
					t.Fatal(err)
				}
				n.wantTold(c.says)
				n.wantPhase(engine.Switch)
				n.wantHeld("the new form", held(n.stored()), all)
				n.wantHeld("the old form", entries(n.look()), old)
				n.idle()
				n.wantPhase(engine.Switch)
			})
		})
	}
}

var errMountPoint = fmt.Errorf("%w: it is a mount point", form.ErrCannotShut)

func TestAFormThatCannotBeShutMakesContractWait(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Switch
		n.mustAdd("a")
		n.cannotSwap(tampered{shut: errMountPoint})
		n.target = engine.Contract
		n.mustAdd("a") // begins the swap
		for i := range 5 {
			n.mustAdd(fmt.Sprint("pod", i))
			n.wantPhase(engine.Switch)
			n.wantWaits("mount point")
		}
		n.idle()
		n.wantWaits("mount point")
		n.wantBoth(n.view().held())
		n.tamper = nil
		for range 2 {
			n.mustAdd("a")
		}
		n.wantPhase(engine.Contract)
		n.wantWaits("")
	})
}

func TestANewNetworkWhoseFormCannotBeShut(t *testing.T) {
	type phases struct{ target, want engine.Phase }
	casesOnPairs(t, map[string]phases{
		"without a target": {"", engine.Switch}, // both are written, which is safe
		"with a target":    {engine.Contract, engine.Contract},
	}, func(t *testing.T, n *node, c phases) {
		n.target = c.target
		n.cannotSwap(tampered{shut: errMountPoint})
		n.mustAdd("a", "10.0.0.2")
		n.wantTold("mount point")
		n.mustAdd("b", "10.0.0.3")
		n.idle()
		all := map[string]string{"10.0.0.2": "a", "10.0.0.3": "b"}
		n.wantBoth(all)
		n.tamper = nil
		n.mustAdd("a")
		n.mustAdd("a")
		n.wantPhase(c.want)
		n.wantHeld("the view", n.view().held(), all)
	})
}

func TestAFormThatCannotBeOpenedMakesSwitchWait(t *testing.T) {
	casesOnPairs(t, map[string]tampered{
		"as it cannot be prepared": {prepare: errMountPoint},
		"as it cannot be swapped":  {open: errMountPoint},
	}, func(t *testing.T, n *node, with tampered) {
		n.shutOld()
		n.target = engine.Switch
		n.cannotSwap(with)
		n.mustAdd("a") // begins the swap
		all := map[string]string{"10.0.0.2": "a"}
		for i := range 3 {
			pod := fmt.Sprint("pod", i)
			all[n.mustAdd(pod)] = pod
			n.wantPhase(engine.Contract)
			n.wantWaits("mount point")
			n.wantHeld("the view", n.view().held(), all)
			if n.look().Shut == nil {
				t.Errorf("the old form is open: %+v", n.look())
			}
		}
		n.idle()
		n.tamper = nil
		n.mustAdd("a")
		n.mustAdd("a")
		n.wantPhase(engine.Switch)
		n.wantWaits("")
		n.wantBoth(all)
	})
}

func TestAnOperatorIsToldThatTheSwapFailed(t *testing.T) {
	casesOnPairs(t, map[string]int{"forward": 1, "back": -1}, func(t *testing.T, n *node, by int) {
		if by > 0 {
			n.older("x", "10.0.0.9")
		}
		n.mustAdd("a", "10.0.0.2")
		n.cannotSwap(tampered{shut: errMountPoint, open: errMountPoint})
		err := n.step(by, true)
		if err == nil {
			n.wantTold("mount point")
		}
		n.wantPhase(map[int]engine.Phase{1: engine.Switch, -1: engine.Contract}[by])
	})
}

// An operator who turns back does not want the swap any more that could not be
// done, also once nothing is in its way.
func TestAStepBackByHandEndsASwapThatCouldNotBeDone(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Switch
		n.mustAdd("a")
		n.target = engine.Contract
		n.cannotSwap(tampered{shut: form.ErrCannotShut})
		n.mustAdd("b")
		n.wantPhase(engine.Switch)
		if err := n.step(-1, true); err != nil {
			t.Fatal(err)
		}
		n.wantPhase(engine.Expand)
		n.tamper = nil
		n.wipe(0)
		n.idle()
		n.wantPhase(engine.Expand)
	})
}

// Files on a disk would outlive a checkpoint on tmpfs.
func TestAFormThatWouldOutliveTheCheckpointStaysShut(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.shutOld()
		n.outlives = errors.New("on tmpfs")
		if err := n.step(-1, true); !errors.Is(err, engine.ErrStep) || !strings.Contains(err.Error(), "on tmpfs") {
			t.Errorf("a step by hand: %v", err)
		}
		n.target = engine.Switch
		all := map[string]string{"10.0.0.2": "a", n.mustAdd("b"): "b"}
		n.wantPhase(engine.Contract)
		n.wantWaits("on tmpfs")
		if n.look().Shut == nil {
			t.Errorf("the old form is open: %+v", n.look())
		}
		n.wantHeld("the view", n.view().held(), all)

		if err := n.pair.Old.Unshut(); err != nil {
			t.Fatal(err)
		}
		n.older("outsider", "10.0.0.9") // then there are files already
		n.idle()
		n.wantTold("on tmpfs")
		n.wantPhase(engine.Switch)
	})
}
