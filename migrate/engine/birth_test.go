package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// found is what stands in the old form's place before the first call.
type found struct {
	put   func(*node)
	says  map[string]string // what it says of addresses
	empty bool
}

func shutBy(dataDir string, boot func(*node) string) func(*node) {
	return func(n *node) {
		tombstone := form.Tombstone{Network: "podnet", DataDir: dataDir, BootID: boot(n)}
		if err := n.pair.Old.Open(n.pair.Old.Path()).Shut(tombstone); err != nil {
			n.Fatalf("%v", err)
		}
	}
}

func thisBoot(n *node) string { return n.bootID() }
func otherBoot(*node) string  { return "boot-of-old" }
func noBoot(*node) string     { return "" }

var foundCases = map[string]found{
	"nothing": {put: func(*node) {}, empty: true},
	"a bare form": {put: func(n *node) {
		n.older("x", "10.0.0.2")
		n.olderDel("x")
		n.wipe(len(n.pair.Old.Wipes()) - 1)
	}, empty: true},
	"entries": {put: func(n *node) {
		n.older("x", "10.0.0.2")
		n.older("y", "10.0.0.9")
	}, says: map[string]string{"10.0.0.2": "x", "10.0.0.9": "y"}},
	"what is set aside only": {put: func(n *node) {
		n.older("x", "10.0.0.2")
		n.olderDel("x")
		n.block("10.0.0.3", false)
	}, says: map[string]string{"10.0.0.3": "!"}},
	"shut in an earlier boot":    {put: shutBy("/data", otherBoot), empty: true},
	"shut in an unknown boot":    {put: shutBy("/data", noBoot), empty: true},
	"shut elsewhere, a boot ago": {put: shutBy("/other", otherBoot), empty: true},
}

func (n *node) wipe(which int) {
	n.Helper()
	if err := n.pair.Old.Wipes()[which].Do(); err != nil {
		n.Fatalf("wiping the old form failed: %v", err)
	}
}

func (n *node) block(addr string, fixed bool) {
	n.Helper()
	if err := n.pair.Old.Block(ip(addr), fixed); err != nil {
		n.Fatalf("%v", err)
	}
}

func TestTheFirstAddEntersAtTheTarget(t *testing.T) {
	for _, target := range []engine.Phase{"", engine.Legacy, engine.Expand, engine.Switch, engine.Contract} {
		t.Run("target "+string(target), func(t *testing.T) {
			casesOnPairs(t, foundCases, func(t *testing.T, n *node, f found) {
				f.put(n)
				n.target = target
				want := target
				if target == "" || target == engine.Contract {
					want = engine.Switch
					if f.empty {
						want = engine.Contract
					}
				}
				if v := n.view(); v.Known || v.Progress.Phase != "" {
					t.Errorf("before the first call: known %t, phase %q", v.Known, v.Progress.Phase)
				}
				addr := n.mustAdd("a")
				if f.says[addr] != "" {
					t.Fatalf("the first ADD was given %s, where %s is", addr, f.says[addr])
				}
				n.wantPhase(want)
				says := map[string]string{addr: "a"}
				maps.Copy(says, f.says)
				v := n.view()
				if want != engine.Contract {
					n.wantHeld("the old form", entries(v.Old), says)
				} else if v.Old.Shut == nil {
					t.Error("the old form was left open")
				}
				maps.DeleteFunc(says, func(_, holder string) bool { return holder == "!" })
				n.wantHeld("the view", v.held(), says)
			})
		})
	}
}

func TestTheFirstCallMayBeADelOrGC(t *testing.T) {
	for name, call := range map[string]func(*node) error{
		"DEL":          func(n *node) error { return n.del("x") },
		"GC of a list": func(n *node) error { return n.gc("y") },
	} {
		t.Run(name, func(t *testing.T) {
			casesOnPairs(t, foundCases, func(t *testing.T, n *node, f found) {
				f.put(n)
				if err := call(n); err != nil {
					t.Fatal(err)
				}
				v := n.view()
				if f.empty {
					if v.Known {
						t.Error("a network that is nowhere became known without an ADD")
					}
					return
				}
				n.wantPhase(engine.Switch)
				says := maps.Clone(f.says)
				maps.DeleteFunc(says, func(_, holder string) bool { return holder == "x" })
				n.wantHeld("the old form", entries(v.Old), says)
				maps.DeleteFunc(says, func(_, holder string) bool { return holder == "!" })
				n.wantHeld("the view", v.held(), says)
			})
		})
	}
}

func TestANetworkThatIsRefusedDoesNotEnter(t *testing.T) {
	refusal := errors.New("refused")
	type refused struct {
		found func(*node)
		want  error
		rest  map[string]string // what DEL leaves: freeing needs nothing that is stored
	}
	casesOnPairs(t, map[string]refused{
		"by whoever admits": {func(n *node) {
			n.older("x", "10.0.0.2")
			n.older("y", "10.0.0.3")
		}, refusal, map[string]string{"10.0.0.3": "y"}},
		"as a tombstone of this boot says": {shutBy("/data", thisBoot), refusal, map[string]string{}},
		"as it is another checkpoint's":    {shutBy("/other", thisBoot), engine.ErrAnothers, map[string]string{}},
	}, func(t *testing.T, n *node, c refused) {
		n.admit = func(form.Contents) error { return refusal }
		c.found(n)
		before := n.look()
		if got, err := n.add("a"); !errors.Is(err, c.want) {
			t.Errorf("the ADD was answered %s, %v", got, err)
		}
		n.wantHeld("the old form after ADD", entries(n.look()), entries(before))
		_ = n.del("x")
		after := n.look()
		n.wantHeld("the old form after DEL", entries(after), c.rest)
		if (after.Shut == nil) != (before.Shut == nil) {
			t.Errorf("the tombstone was %+v, and is %+v", before.Shut, after.Shut)
		}
		if n.view().Known {
			t.Error("the network is known")
		}
		if all, _ := n.stored(); len(all) > 0 {
			t.Errorf("stored: %v", all)
		}
	})
}

// The ADDs of a quiet node all fail, and yet nothing must be missed.
func TestAFailingAddEntersAndTakesSteps(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.older("x", "10.0.0.2")
		fails := func() {
			t.Helper()
			if addr, err := n.add("a", "10.0.0.2"); err == nil {
				t.Fatalf("x holds the address, and a was given %s", addr)
			}
		}
		n.target = engine.Expand
		fails()
		n.wantPhase(engine.Expand)
		n.wantBoth(map[string]string{"10.0.0.2": "x"})

		n.older("y", "10.0.0.3")
		n.target = engine.Switch
		fails()
		n.wantPhase(engine.Switch)
		n.wantBoth(map[string]string{"10.0.0.2": "x", "10.0.0.3": "y"})

		n.olderDel("x")
		n.older("z", "10.0.0.4")
		if got := n.mustAdd("a"); slices.Contains([]string{"10.0.0.3", "10.0.0.4"}, got) {
			t.Errorf("a was given %s, which is held", got)
		}
	})
}

func TestAViewSeesWhatNoCallHasTakenOver(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.older("x", "10.0.0.2")
		n.block("10.0.0.3", false)
		before := n.tree()
		v := n.view()
		n.wantHeld("an unknown network", v.held(), map[string]string{"10.0.0.2": "x"})
		if len(v.Progress.SetAside) != 1 {
			t.Errorf("set aside: %v", v.Progress.SetAside)
		}
		n.wantHeld("the files", n.tree(), before)

		n.target = engine.Expand
		n.mustAdd("a", "10.0.0.9")
		n.olderDel("x")
		n.older("y", "10.0.0.4")
		before = n.tree()
		v = n.view()
		n.wantHeld("a network in expand", v.held(), map[string]string{"10.0.0.9": "a", "10.0.0.4": "y"})
		if !v.Changed || len(v.Differences) != 2 || !strings.Contains(v.Differences[0], "10.0.0.4") {
			t.Errorf("changed %t, differences %q", v.Changed, v.Differences)
		}
		n.wantHeld("the files", n.tree(), before)
	})
}

// A pod of the IPAM plugin before runs in the middle of the subnet, and the first
// configuration leaves it out by two ranges. One range that has both asks again.
func TestAGapBetweenTwoRangesIsNotCoveredByThem(t *testing.T) {
	casesOnPairs(t, map[string]engine.Phase{"switch": engine.Switch, "contract": engine.Contract}, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.knows("w", "eth0", "10.0.0.5")
		add := func(id, ranges string) string {
			n.spaces.begin("/ns/" + id)
			addr, err := n.addCall(ipam.Call{ContainerID: id, IfName: "eth0", NetNS: "/ns/" + id, Stdin: fmt.Appendf(nil,
				`{"cniVersion":"1.0.0","name":%q,"type":"bridge","ipam":{"type":"bolt-local","ranges":[[%s]]}}`, enginetest.Network, ranges)})
			if err != nil {
				t.Fatal(err)
			}
			return addr
		}
		for _, id := range []string{"a", "b", "c"} {
			add(id, `{"subnet":"10.0.0.0/24","rangeEnd":"10.0.0.4"},{"subnet":"10.0.0.0/24","rangeStart":"10.0.0.6"}`)
		}
		if got := add("d", `{"subnet":"10.0.0.0/24"}`); got == "10.0.0.5" {
			t.Errorf("%s of w, which lives, is given to d", got)
		}
	})
}
