package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// What is due before a verb may not be done to its end: the disk is full, the
// form cannot be shut, the commit fails. Nothing may come of that but a delay.

// noRoom is an old form on a full disk: entries can be removed, and none made.
type noRoom struct{ form.Old }

var errNoRoom = errors.New("no space left on device")

func (f noRoom) Apply(changes []form.Change) ([]string, error) {
	for _, c := range changes {
		if c.Want != nil {
			return nil, errNoRoom
		}
	}
	return f.Old.Apply(changes)
}

// Where it cannot be committed either, the form has nothing that would tell the
// next call of it: the DEL has to fail, and waits or is sent again.
func TestADELDoesNotWaitForAWipedFormToBeWrittenAgain(t *testing.T) {
	casesOnPairs(t, map[string]error{"committed": nil, "not committed": errFull}, func(t *testing.T, n *node, failure error) {
		n.target = engine.Switch
		n.mustAdd("a")
		b := n.mustAdd("b")
		if err := n.pair.Old.Wipes()[0].Do(); err != nil {
			t.Fatal(err)
		}
		n.tamper, n.failCommit = func(o form.Old) form.Old { return noRoom{o} }, failure
		if err := n.del("a"); !errors.Is(err, failure) {
			t.Errorf("the DEL ended with %v", err)
		}
		n.tamper, n.failCommit = nil, nil
		if failure != nil {
			n.mustDel("a")
		}
		n.idle()
		n.wantBoth(map[string]string{b: "b"})
	})
}

// What earlier calls have left is done, whatever becomes of the call: if it came
// back it would pass for something newer.
func TestWhatWasDueIsNotTakenBackWithTheCall(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		n.lives(phase)
		var seen []time.Time
		n.due = func(tx ipam.Tx, changed func(netip.Addr) time.Time) error {
			seen = append(seen, changed(ip("10.0.0.3")))
			return tx.Delete(ip("10.0.0.3"))
		}
		n.failCommit = errCommit
		if got, err := n.add("b", "10.0.0.9"); !errors.Is(err, errCommit) {
			t.Errorf("the ADD was answered %s, %v", got, err)
		}
		n.wantHeld("the old form", entries(n.look()), map[string]string{"10.0.0.2": "x"})
		n.failCommit = nil
		n.mustAdd("b", "10.0.0.9")
		if len(seen) != 2 || !seen[1].IsZero() { // not every form knows when
			t.Errorf("the entry was changed at %v", seen)
		}
		n.wantHeld("the view", n.view().held(), map[string]string{"10.0.0.2": "x", "10.0.0.9": "b"})
	})
}

func TestALostFormThatCannotBeShutIsWrittenOn(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Switch
		a := n.mustAdd("a")
		n.target = engine.Contract
		n.tamper = func(o form.Old) form.Old {
			return tampered{Old: o, shut: fmt.Errorf("%w: busy", form.ErrCannotShut)}
		}
		b, c := n.mustAdd("b"), n.mustAdd("c")
		wipes := n.pair.Old.Wipes()
		if err := wipes[len(wipes)-1].Do(); err != nil {
			t.Fatal(err)
		}
		n.idle()
		n.wantPhase(engine.Switch)
		n.wantBoth(map[string]string{a: "a", b: "b", c: "c"})
		n.tamper = nil
		d := n.mustAdd("d")
		n.wantPhase(engine.Contract)
		n.wantHeld("stored", held(n.stored()), map[string]string{a: "a", b: "b", c: "c", d: "d"})
	})
}

func TestWhatABootRemembersOutlivesACallThatIsNotCommitted(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Switch
		a, b := n.mustAdd("a"), n.mustAdd("b")
		n.reboot()
		n.failCommit = errCommit
		if err := n.del("nobody"); !errors.Is(err, errCommit) {
			t.Fatalf("DEL: %v", err)
		}
		n.failCommit = nil
		n.idle()
		n.wantBoth(map[string]string{}, map[string]string{a: "(a)", b: "(b)"})
		if got := n.mustAdd("b"); got != b {
			t.Errorf("b was given %s, and had %s", got, b)
		}
	})
}

// Somebody removes one file while the files of earlier boots are removed: the
// others come back, as what they were.
func TestEntriesOfEarlierBootsThatArePutBackAreOfEarlierBootsStill(t *testing.T) {
	n := newNode(t, enginetest.Pairs[0])
	n.target = engine.Switch
	for _, id := range []string{"a", "b", "c", "d"} {
		n.mustAdd(id)
	}
	n.reboot()
	before := failpoint.Hook
	failpoint.Hook = func(name string) {
		if name == "hostlocal.unlinked" {
			_ = os.Remove(filepath.Join(n.pair.Old.Path(), "10.0.0.4"))
		}
	}
	n.idle()
	failpoint.Hook = before
	n.idle()
	n.wantBoth(map[string]string{}, map[string]string{"10.0.0.2": "(a)", "10.0.0.3": "(b)", "10.0.0.4": "(c)", "10.0.0.5": "(d)"})
}

func TestAStepToLegacyByHandForgetsTheDead(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Switch
		n.mustAdd("a")
		n.reboot()
		if err := errors.Join(n.step(-1, true), n.step(-1, true)); err != nil {
			t.Fatal(err)
		}
		n.wantPhase(engine.Legacy)
		n.wantHeld("the old form", entries(n.look()), map[string]string{})
	})
}

func TestAFirstADDThatIsNotCommittedLeavesNothing(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.failCommit = errCommit
		if _, err := n.add("a"); !errors.Is(err, errCommit) {
			t.Fatalf("ADD: %v", err)
		}
		n.failCommit = nil
		if c := n.look(); len(c.Entries)+len(c.Last) > 0 {
			t.Errorf("left: %+v", c)
		}
		n.mustAdd("b")
		n.wantPhase(engine.Contract)
	})
}

// What fails before the verb must not leave a network half entered: without a
// target nothing would take it on.
func TestAFirstADDThatFailsBeforeItGivesAnything(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.due = func(ipam.Tx, func(netip.Addr) time.Time) error { return errCommit }
		if _, err := n.add("a"); !errors.Is(err, errCommit) {
			t.Fatalf("ADD: %v", err)
		}
		n.due = nil
		n.mustAdd("b")
		n.wantPhase(engine.Contract)
		n.wantHeld("the view", n.view().held(), map[string]string{"10.0.0.2": "b"})
	})
}

func TestABlockedAddressIsNotHadAgainFromAnEarlierBoot(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Switch
		a := n.mustAdd("a")
		n.reboot()
		n.idle()
		if err := n.pair.Old.Block(ip(a), false); err != nil {
			t.Fatal(err)
		}
		if got, err := n.add("b", a); err == nil {
			t.Errorf("b was given %s, which is set aside", got)
		}
		if got := n.mustAdd("a"); got == a {
			t.Errorf("a was given %s again, which is set aside", got)
		}
	})
}

// The file names b, and a holds the address beside: what the DEL of a changes
// can be committed, or is not done.
func TestAFullDiskIsNoExcuseForWhatTheOldFormCannotTell(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.share()
		entry := entries(n.look())[sharedAddr]
		other := map[string]string{"a": "b", "b": "a"}[entry]
		n.failCommit = errFull
		if err := n.del(other); !errors.Is(err, errFull) {
			t.Errorf("DEL of %s, which the old form does not name: %v", other, err)
		}
		n.failCommit = nil
		n.mustDel(other)
		n.wantHeld("the old form", map[string]string{sharedAddr: entries(n.look())[sharedAddr]}, map[string]string{sharedAddr: entry})
	})
}

// Until the next call a network that went back from contract is stored as begun, and
// its old form has all there is, unless it is another.
func TestAFormThatWasOpenedIsComplete(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.shutOld()
		doc := n.migration()
		if engine.Complete(doc, n.look()) {
			t.Error("a form that is shut passes for complete")
		}
		if err := n.step(-1, false); err != nil {
			t.Fatal(err)
		}
		doc = n.migration()
		if !engine.Complete(doc, n.look()) {
			t.Errorf("not complete: %+v, %s", n.look(), doc)
		}
		n.wipe(0)
		n.older("x", "10.0.0.9")
		if engine.Complete(doc, n.look()) {
			t.Error("a form that was wiped passes for complete")
		}
	})
}

// announced leaves a network in contract with a step to switch that was committed,
// and could not be done.
func (n *node) announced() map[string]string {
	n.Helper()
	n.shutOld()
	n.target = engine.Switch
	n.cannotSwap(tampered{open: errMountPoint})
	all := map[string]string{"10.0.0.2": "a", n.mustAdd("b"): "b"}
	n.tamper = nil
	n.wantPhase(engine.Contract)
	return all
}

// wantSpaces asks that the namespace of each of these pods is on record.
func (n *node) wantSpaces(when string, ids ...string) {
	n.Helper()
	all, _ := n.stored()
	for _, a := range all {
		for _, h := range a.Holders {
			if h.NetNS.Inode == 0 && slices.Contains(ids, h.ContainerID) {
				n.Errorf("%s: %s of %s, by %s, has no namespace", when, a.Addr, h.ContainerID, h.Origin)
			}
		}
	}
}

// The form is opened before the commit then: what the cut leaves is known by its marks.
func TestAnADDThatOpensWhatWasAnnouncedIsCutAndLosesNothing(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		all := n.announced()
		n.failCommit = errCommit
		if got, err := n.add("c"); !errors.Is(err, errCommit) {
			t.Fatalf("the ADD was answered %s, %v", got, err)
		}
		n.failCommit = nil
		n.idle()
		n.wantPhase(engine.Switch)
		n.wantBoth(all)
		n.wantSpaces("after the cut", "a", "b")
	})
}

// What was prepared is out of date then, and must not be opened as it is.
func TestWhatWasAnnouncedDoesNotOutliveACallThatCannotTidyUp(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		all := n.announced()
		n.cannotSwap(tampered{sync: errCommit})
		n.mustDel("b")
		n.tamper = nil
		for addr, id := range all {
			if id == "b" {
				delete(all, addr)
			}
		}
		all[n.mustAdd("c")] = "c"
		n.wantPhase(engine.Switch)
		n.wantBoth(all)
	})
}

func TestAStepByHandThatEndsOneWaitsForNothing(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.announced()
		n.cannotSwap(tampered{open: errMountPoint})
		n.mustAdd("c")
		if doc := n.migration(); !bytes.Contains(doc, []byte("waits")) {
			t.Fatalf("%s waits for nothing", doc)
		}
		n.tamper = nil
		if err := n.step(-1, false); err != nil {
			t.Fatal(err)
		}
		if doc := n.migration(); bytes.Contains(doc, []byte("waits")) {
			t.Errorf("%s waits still", doc)
		}
	})
}

func TestAForcedStepBackThatEndsOneHasNoTarget(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.announced()
		if err := n.step(-1, true); err != nil {
			t.Fatal(err)
		}
		n.wantPhase(engine.Switch)
		if target := n.progress().Target; target != "" {
			t.Errorf("the target is %s", target)
		}
	})
}

func TestAnADDThatOpensWhatWasAnnouncedIsKilledAtEveryPoint(t *testing.T) {
	for name, also := range map[string]tampered{"it is opened": {}, "it still cannot be": {open: errMountPoint}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, m := range enginetest.Pairs {
				for at, more := 1, true; more; at++ {
					n := newNode(t, m)
					all := n.announced()
					n.cannotSwap(also)
					var point string
					point, more = n.killAt(at, func() { _, _ = n.add("c") })
					n.tamper = nil
					delete(n.spaces, "/ns/c")
					for _, call := range []func(){n.idle, func() { n.mustAdd("a") }, func() { n.mustDel("c") }, func() { n.mustAdd("a") }} {
						call()
						n.wantSpaces("killed at "+point, "a", "b")
					}
					n.wantPhase(engine.Switch)
					n.wantBoth(all)
				}
			}
		})
	}
}

// migration is the document as it is stored.
func (n *node) migration() []byte {
	n.Helper()
	var doc []byte
	err := n.pair.New.Read(func(tx form.New) (err error) {
		doc, err = tx.Migration()
		return err
	})
	if err != nil {
		n.Fatalf("reading the document failed: %v", err)
	}
	return slices.Clone(doc)
}
