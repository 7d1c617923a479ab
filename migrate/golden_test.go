package migrate

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/migrate/hostlocal"
	"github.com/bolt-local/bolt-local/store/record"
)

// Golden state is what a release has left on disk, in each phase and in the
// middle of a swap. Every later version has to carry on with it.

var sameAddr = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// onGoldens runs a test on a copy of each case.
func onGoldens(t *testing.T, test func(*testing.T, golden, *goldenNode)) {
	t.Helper()
	for _, g := range goldens(t) {
		t.Run(g.release+"/"+g.name, func(t *testing.T) { test(t, g, g.open(t)) })
	}
}

func TestTheGoldenRecordsAreReadAsTheyWereWritten(t *testing.T) {
	onGoldens(t, func(t *testing.T, g golden, n *goldenNode) {
		got, problem := n.stored()
		n.must(problem)
		n.verify()
		var want []goldenAllocation
		for _, net := range g.expected.Networks {
			if net.Phase != engine.Legacy { // which has them in the directory alone
				want = append(want, net.Allocations...)
			}
		}
		if diff := cmp.Diff(want, got, sameAddr); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
	})
}

func TestACopyOfTheGoldenStateShowsTheUnion(t *testing.T) {
	onGoldens(t, func(t *testing.T, g golden, n *goldenNode) {
		files := map[string]form.Contents{}
		for _, net := range g.expected.Networks {
			c, err := hostlocal.At(filepath.Join(goldenNetworks, net.Name)).Look()
			n.must(err)
			files[net.Name] = c
		}
		if diff := cmp.Diff(g.expected.copied(files), n.dump(), sameAddr); diff != "" {
			t.Errorf("dump (-want +got):\n%s", diff)
		}
		if len(n.warned) > 0 {
			t.Errorf("warnings: %q", n.warned)
		}
	})
}

func TestReadingTheGoldenStateChangesNothing(t *testing.T) {
	onGoldens(t, func(t *testing.T, g golden, n *goldenNode) {
		before := treeHash(t, ".")
		n.dump()
		n.must(n.status())
		for _, a := range g.expected.rows() {
			if a.State == goldenActive && a.IfName != "" {
				n.must(n.check(a.ContainerID, a.IfName))
			}
		}
		if after := treeHash(t, "."); after != before {
			t.Error("the tree has changed")
		}
	})
}

func TestANewPodGetsWhatNobodyHoldsInTheGoldenState(t *testing.T) {
	onGoldens(t, func(t *testing.T, _ golden, n *goldenNode) { n.addsAnother() })
}

func TestANewPodOfANewBootGetsWhatNobodyHoldsInTheGoldenState(t *testing.T) {
	onGoldens(t, func(t *testing.T, _ golden, n *goldenNode) {
		n.boot = goldenBootAfter
		n.addsAnother()
	})
}

// addsAnother asks that the ADD of a new pod changes nothing of what is held.
func (n *goldenNode) addsAnother() {
	n.t.Helper()
	before := n.dump()
	got, err := n.add("new-0", "eth0", "")
	n.must(err)
	if len(got) != 2 {
		n.t.Fatalf("%v, want an address of each range set", got)
	}
	held := before.active()
	never := append(before.Networks[0].SetAside, goldenNever...)
	for _, a := range got {
		if len(held[a]) > 0 || slices.Contains(never, a) {
			n.t.Errorf("it gets %s", a)
		}
		held[a] = []record.Attachment{{ContainerID: "new-0", IfName: "eth0"}}
	}
	n.sound()
	if diff := cmp.Diff(held, n.dump().active(), sameAddr); diff != "" {
		n.t.Errorf("held afterwards (-want +got):\n%s", diff)
	}
}

// Also what is of an earlier boot: nobody has taken its address.
func TestEveryPodOfTheGoldenStateGetsItsAddressAgain(t *testing.T) {
	onGoldens(t, func(t *testing.T, g golden, n *goldenNode) {
		want := map[record.Attachment][]netip.Addr{}
		for _, a := range g.expected.rows() {
			if a.IfName != "" {
				want[a.attachment()] = append(want[a.attachment()], a.IP)
			}
		}
		for att, addrs := range want {
			got, err := n.add(att.ContainerID, att.IfName, "")
			n.must(err)
			for _, a := range addrs {
				if !slices.Contains(got, a) {
					t.Errorf("%s gets %v, and had %s", att.ContainerID, got, a)
				}
			}
		}
		n.sound()
	})
}

func TestDELFreesEachPodOfTheGoldenState(t *testing.T) {
	onGoldens(t, func(t *testing.T, g golden, n *goldenNode) {
		held := n.dump().active()
		for _, a := range g.expected.rows() {
			if a.State != goldenActive {
				continue
			}
			ifname := a.IfName
			if ifname == "" {
				ifname = "eth0" // a runtime knows it
			}
			n.must(n.del(a.ContainerID, ifname))
			for addr, by := range held {
				held[addr] = slices.DeleteFunc(by, func(att record.Attachment) bool { return att.ContainerID == a.ContainerID })
				if len(held[addr]) == 0 {
					delete(held, addr)
				}
			}
			n.sound()
			if diff := cmp.Diff(held, n.dump().active(), sameAddr); diff != "" {
				t.Fatalf("held after the DEL of %s (-want +got):\n%s", a.ContainerID, diff)
			}
		}
		if len(held) > 0 {
			t.Errorf("held at the end: %v", held)
		}
	})
}

func TestGCKeepsWhatIsListedInTheGoldenState(t *testing.T) {
	onGoldens(t, func(t *testing.T, g golden, n *goldenNode) {
		keep := record.Attachment{ContainerID: "web-1", IfName: "eth0"}
		if g.name == "legacy" {
			keep.ContainerID = "web-0"
		}
		want := map[netip.Addr][]record.Attachment{}
		for addr, by := range n.dump().active() {
			if slices.Contains(by, keep) {
				want[addr] = []record.Attachment{keep}
			}
		}
		if len(want) != 2 {
			t.Fatalf("%v holds %v", keep, want)
		}
		n.must(n.gc(keep))
		n.sound()
		if diff := cmp.Diff(want, n.dump().active(), sameAddr); diff != "" {
			t.Errorf("held (-want +got):\n%s", diff)
		}
	})
}

// goldenSteps go from each case to a phase and back, an operator's (advance,
// force, rollback, force back) and an ADD's with that target. A step that has to wait says
// for what.
var goldenSteps = map[string][]string{
	"contract":         {"rollback -> switch", "advance -> contract", "switch -> switch", "contract -> contract"},
	"switch":           {"rollback -> expand", "advance -> switch", "advance waits: made by host-local", "force -> contract", "rollback -> switch"},
	"expand":           {"advance -> switch", "rollback -> expand", "rollback -> legacy", "advance -> expand"},
	"legacy":           {"advance waits: would undo it", "expand -> expand", "switch -> switch", "expand -> expand", "legacy -> legacy"},
	"pending-contract": {"rollback -> expand", "advance -> switch", "force -> contract", "rollback -> switch"},
	"pending-switch":   {"rollback -> switch", "advance -> contract"},
	"two-holders":      {"rollback waits: is held by two attachments", "switch -> switch", "contract -> switch", "rollback waits: would undo it", "force back waits: is held by two attachments"},
}

func TestTheGoldenStateGoesToOtherPhasesAndBack(t *testing.T) {
	onGoldens(t, func(t *testing.T, g golden, n *goldenNode) {
		held := n.dump().active()
		for i, step := range goldenSteps[g.name] {
			n.goldenStep(fmt.Sprint("step-", i), step)
			now := n.dump()
			for addr, by := range held {
				if diff := cmp.Diff(by, now.active()[addr]); diff != "" {
					t.Fatalf("%s: held by (-want +got):\n%s", step, diff)
				}
			}
		}
		if got := n.beside(); !slices.Equal(got, []string{goldenNetwork}) {
			t.Errorf("beside: %q", got)
		}
	})
}

// goldenStep takes one step of goldenSteps. The pod is that of an ADD.
func (n *goldenNode) goldenStep(pod, step string) {
	n.t.Helper()
	what, waits, hasToWait := strings.Cut(step, " waits: ")
	what, want, _ := strings.Cut(what, " -> ")
	var taken engine.Step
	var err error
	switch what {
	case "advance", "force":
		taken, err = n.advance(what == "force")
	case "rollback", "force back":
		taken, err = n.rollback(what == "force back")
	default:
		n.mustAdd(pod, what)
		n.must(n.del(pod, "eth0"))
		taken.To = engine.Phase(n.dump().Networks[0].Phase)
	}
	switch {
	case hasToWait && (!errors.Is(err, engine.ErrStep) || !strings.Contains(err.Error(), waits)):
		n.t.Fatalf("%s: %v", step, err)
	case !hasToWait && err != nil:
		n.t.Fatalf("%s: %v", step, err)
	case !hasToWait && string(taken.To) != want:
		n.t.Fatalf("%s: phase %s; warnings %q", step, taken.To, n.warned)
	}
	n.sound()
}

func TestEveryReleaseHasEveryCase(t *testing.T) {
	names := map[string][]string{}
	for _, g := range goldens(t) {
		names[g.release] = append(names[g.release], g.name)
		if len(g.expected.rows()) == 0 {
			t.Errorf("%s: nothing is held", g.dir)
		}
	}
	want := slices.Sorted(maps.Keys(goldenSteps))
	for release, got := range names {
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", release, got, want)
		}
	}
	if len(goldenCases) != len(want) {
		t.Errorf("%d cases are written, and steps are known of %d", len(goldenCases), len(want))
	}
}
