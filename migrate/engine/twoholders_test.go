package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
)

const sharedAddr = "10.0.0.2"

// share leaves a network in switch in which a and b hold the same address, and
// the old form's entry names b.
func (n *node) share() {
	n.Helper()
	n.target = engine.Switch
	n.mustAdd("a", sharedAddr)
	n.wipe(0)
	n.older("b", sharedAddr)
	n.mustAdd("x", "10.0.0.9")
	n.wantTold(sharedAddr+" is held by two attachments", "was changed by another")
	n.wantShared("a+b", "b")
}

func (n *node) wantShared(both, entry string) {
	n.Helper()
	n.wantHeld("the new form", held(n.stored()), map[string]string{sharedAddr: both, "10.0.0.9": "x"})
	n.wantHeld("the old form", entries(n.look()), map[string]string{sharedAddr: entry, "10.0.0.9": "x"})
	if v := n.view(); v.Changed || len(v.Differences) > 0 {
		n.Errorf("changed %t, differences %q", v.Changed, v.Differences)
	}
}

func TestOfTwoHoldersTheRestKeepsTheAddress(t *testing.T) {
	type end struct {
		goes func(*node)
		rest string
	}
	casesOnPairs(t, map[string]end{
		"the old form's user deletes the one that the entry names": {func(n *node) { n.olderDel("b"); n.idle() }, "a"},
		"DEL of the one that the entry names":                      {func(n *node) { n.mustDel("b") }, "a"},
		"DEL of the other":                                         {func(n *node) { n.mustDel("a") }, "b"},
		"GC of the one that the entry names":                       {func(n *node) { _ = n.gc("a", "x") }, "a"},
		"GC of the other":                                          {func(n *node) { _ = n.gc("b", "x") }, "b"},
	}, func(t *testing.T, n *node, c end) {
		n.share()
		c.goes(n)
		n.wantBoth(map[string]string{sharedAddr: c.rest, "10.0.0.9": "x"})
		if got, err := n.add("new", sharedAddr); err == nil {
			t.Errorf("%s, which %s holds, was given out", got, c.rest)
		}
		n.mustDel(c.rest)
		n.wantBoth(map[string]string{"10.0.0.9": "x"})
		n.mustAdd("new", sharedAddr)
		n.wantBoth(map[string]string{sharedAddr: "new", "10.0.0.9": "x"})
	})
}

func TestStepsDownWaitForTwoHolders(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.share()
		n.target = engine.Legacy
		n.mustAdd("x")
		n.wantPhase(engine.Switch)
		n.wantWaits("two attachments")
		if err := n.step(-1, false); !errors.Is(err, engine.ErrStep) {
			t.Errorf("rollback: %v", err)
		}
		n.wantShared("a+b", "b")
		n.mustDel("a")
		n.mustAdd("x")
		n.wantPhase(engine.Expand)
		n.mustAdd("x")
		n.wantPhase(engine.Legacy)
		n.wantWaits("")
	})
}

func TestTwoHoldersGoUpAndBack(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.share()
		n.target = engine.Contract
		n.mustAdd("x")
		n.wantWaits("made by") // b's
		if err := n.step(1, true); err != nil {
			t.Fatal(err)
		}
		n.wantPhase(engine.Contract)
		n.wantHeld("the new form", held(n.stored()), map[string]string{sharedAddr: "a+b", "10.0.0.9": "x"})
		n.target = engine.Switch
		n.mustAdd("x")
		n.wantPhase(engine.Switch)
		n.mustAdd("x")
		entry := entries(n.look())[sharedAddr]
		n.wantShared("a+b", entry)
		rest := map[string]string{"a": "b", "b": "a"}[entry]
		n.olderDel(entry)
		n.idle()
		n.wantBoth(map[string]string{sharedAddr: rest, "10.0.0.9": "x"})
	})
}

func TestAnEntryMayNameEitherHolder(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.share()
		if err := errors.Join(n.pair.Old.Remove(ip(sharedAddr)), n.pair.Old.Seize(eth0("a"), ip(sharedAddr))); err != nil {
			t.Fatal(err)
		}
		n.write(func(tx form.New) error { // both are without a mark
			a, _, err := tx.Get(ip(sharedAddr))
			for i := range a.Holders {
				a.Holders[i].Mark = ""
			}
			return errors.Join(err, tx.Put(a))
		})
		if v := n.view(); len(v.Differences) > 0 {
			t.Errorf("differences: %q", v.Differences)
		}
		n.idle()
		n.wantShared("a+b", "a")
	})
}

// Nobody of an earlier boot lives, so a step down waits for none of them.
func TestTwoHoldersOfAnEarlierBootHoldNothing(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.share()
		n.reboot()
		n.idle()
		n.wantBoth(map[string]string{}, map[string]string{sharedAddr: "(a+b)", "10.0.0.9": "(x)"})
		n.target = engine.Expand
		n.mustAdd("y", "10.0.0.20")
		n.wantPhase(engine.Expand)
		n.wantWaits("")
		n.mustDel("b") // late
		n.wantBoth(map[string]string{"10.0.0.20": "y"}, map[string]string{sharedAddr: "(a)", "10.0.0.9": "(x)"})
	})
}

func (n *node) wantWaits(word string) {
	n.Helper()
	got := n.progress().Waits
	if (word == "") != (got == "") || !strings.Contains(got, word) {
		n.Errorf("it waits for %q, want %q", got, word)
	}
}
