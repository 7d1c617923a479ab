package engine_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store/record"
)

// knows makes the witness know of a living attachment.
func (n *node) knows(id, ifname string, addrs ...string) record.NetNS {
	n.spaces.begin("/ns/" + id)
	ns := n.spaces.Identify("/ns/" + id)
	l := engine.Living{Holder: record.Holder{
		Attachment: record.Attachment{ContainerID: id, IfName: ifname},
		Origin:     record.OriginCNICache,
		NetNS:      ns,
		Pod:        record.Pod{Namespace: "default", Name: id},
	}}
	for _, addr := range addrs {
		l.Addrs = append(l.Addrs, ip(addr))
	}
	n.living = append(n.living, l)
	return ns
}

func (n *node) nameless(id, addr string) {
	n.Helper()
	if err := n.pair.Old.Add(record.Attachment{ContainerID: id}, ip(addr)); err != nil {
		n.Fatalf("%v", err)
	}
}

func (n *node) holder(addr string) record.Holder {
	n.Helper()
	all, _ := n.stored()
	a, ok := all[ip(addr)]
	if !ok {
		n.Fatalf("%s is not recorded: %v", addr, all)
	}
	return a.Holders[0]
}

func TestAnEntryWithoutAnIfnameIsAFullAllocation(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.nameless("x", "10.0.0.2")
		n.mustAdd("a", "10.0.0.9")
		n.wantBoth(map[string]string{"10.0.0.2": "x/", "10.0.0.9": "a"})
		h := n.holder("10.0.0.2")
		if h.IfName != "" || !slices.Equal(h.Unknown, []string{"ifname"}) || h.Origin != record.OriginHostLocal {
			t.Errorf("recorded: %+v", h)
		}
		if got, err := n.add("b", "10.0.0.2"); err == nil {
			t.Errorf("%s, which x holds, was given to b", got)
		}
		n.mustDel("x") // whose namespace is gone, so that it is any of x's interfaces
		n.wantBoth(map[string]string{"10.0.0.9": "a"})
	})
}

func TestAWitnessCompletesAnEntry(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.nameless("x", "10.0.0.2")
		n.nameless("x", "10.0.0.3")
		ns := n.knows("x", "eth0", "10.0.0.2")
		n.knows("y", "eth0", "10.0.0.3") // of another container
		n.mustAdd("a", "10.0.0.9")
		n.wantHeld("the new form", held(n.stored()), map[string]string{"10.0.0.2": "x", "10.0.0.3": "x/", "10.0.0.9": "a"})
		n.wantHeld("the old form", entries(n.look()), map[string]string{"10.0.0.2": "x/", "10.0.0.3": "x/", "10.0.0.9": "a"})
		if h := n.holder("10.0.0.2"); h.NetNS != ns || h.Pod.Name != "x" || len(h.Unknown) > 0 {
			t.Errorf("completed: %+v", h)
		}
		if v := n.view(); v.Changed || len(v.Differences) > 0 {
			t.Errorf("changed %t, differences %q", v.Changed, v.Differences)
		}
		n.spaces.begin("/ns/x")
		if err := n.plugin().Del(n.call("x", "")); err != nil { // by the cache
			t.Fatal(err)
		}
		n.wantBoth(map[string]string{"10.0.0.3": "x/", "10.0.0.9": "a"})
	})
}

// legacy does as host-local does, and asks nobody.
func TestTheLivingAreTakenOverWhenANetworkLeavesLegacy(t *testing.T) {
	onPairs(t, func(t *testing.T, n *node) {
		n.target = engine.Legacy
		n.mustAdd("a", "10.0.0.2")
		n.knows("w", "eth0", "10.0.0.3")
		n.target = engine.Expand
		got := n.mustAdd("b")
		n.wantBoth(map[string]string{"10.0.0.2": "a", "10.0.0.3": "w", got: "b"})
	})
}

func TestAnAddTakesOverWhatAWitnessAscribesToIt(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.nameless("x", "10.0.0.2")
		n.idle()
		n.knows("x", "eth0", "10.0.0.2")
		if got := n.mustAdd("x"); got != "10.0.0.2" {
			t.Errorf("x was answered %s, and holds 10.0.0.2", got)
		}
		n.wantHeld("the view", n.view().held(), map[string]string{"10.0.0.2": "x"})
		n.mustDel("x")
		n.wantHeld("the view", n.view().held(), map[string]string{})
		n.wantHeld("the old form", entries(n.look()), map[string]string{})
	})
}

// A network that is new, or a range that is, asks the witness who lives there.
func TestTheLivingAreTakenOverWithANewRange(t *testing.T) {
	casesOnPairs(t, map[string]engine.Phase{"expand": engine.Expand, "switch": engine.Switch, "contract": engine.Contract},
		func(t *testing.T, n *node, phase engine.Phase) {
			n.target = phase
			n.knows("w", "eth0", "10.0.0.2", "10.9.0.2")
			n.knows("v", "net1", "10.0.0.4")
			got := n.mustAdd("a")
			all := map[string]string{"10.0.0.2": "w", "10.0.0.4": "v/net1", got: "a"}
			n.wantHeld("the view", n.view().held(), all)
			n.wantTold("2 allocations of living attachments")
			if h := n.holder("10.0.0.2"); h.Origin != record.OriginCNICache || h.NetNS.Inode == 0 {
				t.Errorf("recorded: %+v", h)
			}
			if phase != engine.Contract {
				n.wantBoth(all)
			}
			n.mustDel("w")
			delete(all, "10.0.0.2")
			n.mustAdd("a")
			n.wantHeld("the view, as the range is known", n.view().held(), all)
			n.subnet = "10.9.0.0/24"
			n.mustAdd("b", "10.9.0.7")
			all["10.9.0.7"], all["10.9.0.2"] = "b", "w"
			n.wantHeld("the view, with the other range", n.view().held(), all)
		})
}

func TestOfTheLivingNobodyTakesWhatIsHeldOrBlocked(t *testing.T) {
	casesOnPairs(t, mirrored, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		n.older("x", "10.0.0.2")
		n.block("10.0.0.3", false)
		n.knows("w", "eth0", "10.0.0.2", "10.0.0.3", "10.0.0.4")
		n.mustAdd("a", "10.0.0.9")
		n.wantHeld("the view", n.view().held(), map[string]string{"10.0.0.2": "x", "10.0.0.4": "w", "10.0.0.9": "a"})
		n.wantHeld("the old form", entries(n.look()), map[string]string{"10.0.0.2": "x", "10.0.0.3": "!", "10.0.0.4": "w", "10.0.0.9": "a"})
	})
}

func TestDelFreesAllOfTheAttachmentAndNothingElse(t *testing.T) {
	casesOnPairs(t, written, func(t *testing.T, n *node, phase engine.Phase) {
		n.target = phase
		for addr, att := range map[string]record.Attachment{
			"10.0.0.2": {ContainerID: "x", IfName: "eth0"},
			"10.0.0.3": {ContainerID: "x", IfName: "eth0"},
			"10.0.0.4": {ContainerID: "x", IfName: "eth1"},
			"10.0.0.5": {ContainerID: "x-y", IfName: "eth0"},
		} {
			if err := n.pair.Old.Add(att, netip.MustParseAddr(addr)); err != nil {
				t.Fatal(err)
			}
		}
		n.mustDel("x")
		rest := map[string]string{"10.0.0.4": "x/eth1", "10.0.0.5": "x-y"}
		n.wantHeld("the view", n.view().held(), rest)
		n.wantHeld("the old form", entries(n.look()), rest)
	})
}
