package ipam_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

const shared = "10.0.0.2" // the only address of net30

// twoHold is a node on which the containers a and b, both alive, turned out to
// hold one address. No ADD does this; an import may find it so.
func twoHold(t *testing.T) *node {
	t.Helper()
	n := newNode(t.TempDir())
	n.spaces["/ns/a"], n.spaces["/ns/b"], n.spaces["/ns/c"] = 1, 2, 3
	mustAdd(t, n, "a", conf(net30), shared)
	err := n.store.Update(store.Op{Verb: "ADD", Creates: true, Runtime: true}, func(tx *store.Tx) error {
		a, _, err := tx.Network("n").Get(netip.MustParseAddr(shared))
		if err != nil {
			return err
		}
		second := a.Holders[0]
		second.ContainerID, second.NetNS = "b", n.spaces.Identify("/ns/b")
		a.Holders = append(a.Holders, second)
		return tx.Network("n").Put(a)
	})
	if err != nil {
		t.Fatal(err)
	}
	n.wantHolders(t, "a b")
	return n
}

// allocation is what is recorded of the shared address.
func (n *node) allocation(t *testing.T) record.Allocation {
	t.Helper()
	var got record.Allocation
	err := n.store.Read(func(tx *store.Tx) error {
		if err := tx.Verify(); err != nil {
			return err
		}
		var err error
		got, _, err = tx.Network("n").Get(netip.MustParseAddr(shared))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wantHolders compares the containers that hold the shared address, in order.
func (n *node) wantHolders(t *testing.T, want string) {
	t.Helper()
	var ids []string
	for _, h := range n.allocation(t).Holders {
		ids = append(ids, h.ContainerID)
	}
	slices.Sort(ids)
	if got := strings.Join(ids, " "); got != want {
		t.Fatalf("%s is held by %q, want %q", shared, got, want)
	}
}

func TestDelOfOneOfTwoHoldersLeavesTheOther(t *testing.T) {
	for _, order := range [][2]string{{"a", "b"}, {"b", "a"}} {
		t.Run(order[0]+" first", func(t *testing.T) {
			n := twoHold(t)
			for range 2 { // again is success, and takes nothing from the other
				if err := n.plugin().Del(n.call(order[0], conf(net30))); err != nil {
					t.Fatal(err)
				}
				n.wantHolders(t, order[1])
			}
			_, err := n.add("c", conf(net30))
			wantCode(t, err, ipam.CodeTryAgain)
			if err := n.plugin().Del(n.call(order[1], conf(net30))); err != nil {
				t.Fatal(err)
			}
			n.wantHolders(t, "")
			mustAdd(t, n, "c", conf(net30), shared)
		})
	}
}

func TestGCTakesEachHolderForItself(t *testing.T) {
	const key = "cni.dev/valid-attachments"
	for name, c := range map[string]struct {
		valid any
		dead  []string // whose namespaces are gone
		left  string
	}{
		"a list with both":             {attachments("a", "b"), nil, "a b"},
		"a list with the first alone":  {attachments("a"), nil, "a"},
		"a list with the second alone": {attachments("b", "c"), nil, "b"},
		"a list with neither":          {attachments("c"), nil, ""},
		"an empty list":                {attachments(), nil, ""},
		"a list counts, not the dead":  {attachments("a", "b"), []string{"a", "b"}, "a b"},
		"null, both alive":             {nil, nil, "a b"},
		"null, the first dead":         {nil, []string{"a"}, "b"},
		"null, the second dead":        {nil, []string{"b"}, "a"},
		"null, both dead":              {nil, []string{"a", "b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := twoHold(t)
			for _, id := range c.dead {
				delete(n.spaces, "/ns/"+id)
			}
			n.warned = nil
			if err := n.plugin().GC(n.call("", gcConf(key, c.valid))); err != nil {
				t.Fatal(err)
			}
			n.wantHolders(t, c.left)
			for _, id := range []string{"a", "b"} { // told of those freed, and of no other
				told := strings.Contains(strings.Join(n.warned, "\n"), "freed "+shared+" of container "+id+",")
				if kept := strings.Contains(c.left, id); told == kept {
					t.Errorf("container %s: kept = %t, told as freed = %t: %q", id, kept, told, n.warned)
				}
			}
		})
	}
}

func TestCheckOfEitherHolderPasses(t *testing.T) {
	n := twoHold(t)
	given := with(conf(net30), "prevResult", prev(shared+"/30"))
	for _, id := range []string{"a", "b"} {
		if err := n.plugin().Check(n.call(id, given)); err != nil {
			t.Errorf("CHECK %s: %v", id, err)
		}
	}
	wantCode(t, n.plugin().Check(n.call("c", given)), ipam.CodeNothingAllocated)
	wantCode(t, n.plugin().Check(n.call("b", with(conf(net30), "prevResult", prev("10.0.0.9/30")))), ipam.CodeCheckMismatch)
}

func TestRepeatedAddOfEitherHolderGivesTheSharedAddress(t *testing.T) {
	for _, id := range []string{"a", "b"} {
		for name, c := range map[string]string{
			"without a request": conf(net30),
			"on request":        with(conf(net30), "args", ipsArg(shared)),
		} {
			t.Run(id+" "+name, func(t *testing.T) {
				n := twoHold(t)
				mustAdd(t, n, id, c, shared)
				n.wantHolders(t, "a b")
				n.spaces["/ns/"+id] = 77 // the runtime made a new namespace
				mustAdd(t, n, id, c, shared)
				n.wantHolders(t, "a b")
				for _, h := range n.allocation(t).Holders {
					if want := n.spaces["/ns/"+h.ContainerID]; h.NetNS.Inode != want {
						t.Errorf("container %s: namespace %d is recorded, want %d", h.ContainerID, h.NetNS.Inode, want)
					}
				}
			})
		}
	}
}

func TestAfterARebootOneLivingHolderKeepsTheAddress(t *testing.T) {
	for name, c := range map[string]struct {
		alive []string
		free  bool
	}{
		"both are alive":      {[]string{"a", "b"}, false},
		"the first is alive":  {[]string{"a"}, false},
		"the second is alive": {[]string{"b"}, false},
		"both are gone":       {nil, true},
	} {
		for kind, cfg := range map[string]string{
			"the next free":      conf(net30),
			"a requested one":    with(conf(net30), "args", ipsArg(shared)),
			"told by STATUS too": "",
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				n := twoHold(t)
				n.boot++
				delete(n.spaces, "/ns/a")
				delete(n.spaces, "/ns/b")
				for _, id := range c.alive {
					n.spaces["/ns/"+id] = map[string]uint64{"a": 1, "b": 2}[id]
				}
				var err error
				if cfg == "" {
					err = status(n, conf(net30))
				} else {
					_, err = n.add("c", cfg)
				}
				switch {
				case c.free && err != nil:
					t.Fatal(err)
				case !c.free && err == nil:
					t.Fatal("no error")
				case c.free && cfg != "":
					n.wantHolders(t, "c")
				default:
					n.wantHolders(t, "a b")
				}
			})
		}
	}
}

func TestALateDelOfAHolderTakesNothingFromTheNext(t *testing.T) {
	n := twoHold(t)
	n.boot++
	delete(n.spaces, "/ns/a")
	delete(n.spaces, "/ns/b")
	mustAdd(t, n, "c", conf(net30), shared)
	for _, id := range []string{"a", "b"} {
		if err := n.plugin().Del(n.call(id, conf(net30))); err != nil {
			t.Fatal(err)
		}
	}
	n.wantHolders(t, "c")
}

func TestTheLastResortWaitsForBothHolders(t *testing.T) {
	n := twoHold(t)
	for _, id := range []string{"a", "b"} {
		_, err := n.add("c", conf(net30))
		wantCode(t, err, ipam.CodeTryAgain)
		n.wantHolders(t, "a b")
		delete(n.spaces, "/ns/"+id)
	}
	n.warned = nil
	mustAdd(t, n, "c", conf(net30), shared)
	n.wantHolders(t, "c")
	if told := fmt.Sprint(n.warned); !strings.Contains(told, "container a,") || !strings.Contains(told, "container b,") {
		t.Errorf("warnings: %q", n.warned)
	}
}

func TestARequestForASharedAddressNamesBothHolders(t *testing.T) {
	n := twoHold(t)
	_, err := n.add("c", with(conf(net30), "args", ipsArg(shared)))
	wantCode(t, err, ipam.CodeRequestedTaken, shared, "container a, ifname eth0", "container b, ifname eth0")
	n.wantHolders(t, "a b")
}

func TestASharedAddressCountsOnce(t *testing.T) {
	n := twoHold(t)
	wantCode(t, status(n, conf(net30)), ipam.CodeUnavailable, "1 held")
	u := n.plugin().Usage(1, sets(t, net30), []record.Allocation{n.allocation(t)}, nil)
	if u.Held != 1 || u.Sets[0].Held != 1 || !u.Sets[0].Exhausted() {
		t.Errorf("held = %d, of the set %d, exhausted = %t, want 1, 1 and true", u.Held, u.Sets[0].Held, u.Sets[0].Exhausted())
	}
	if err := n.plugin().Del(n.call("a", conf(net30))); err != nil {
		t.Fatal(err)
	}
	wantCode(t, status(n, conf(net30)), ipam.CodeUnavailable, "1 held")
	if err := n.plugin().Del(n.call("b", conf(net30))); err != nil {
		t.Fatal(err)
	}
	if err := status(n, conf(net30)); err != nil {
		t.Errorf("with nobody left: %v", err)
	}
}

func TestStatusCountsASharedAddressAsFreeOnceBothNamespacesAreGone(t *testing.T) {
	n := twoHold(t)
	delete(n.spaces, "/ns/b")
	wantCode(t, status(n, conf(net30)), ipam.CodeUnavailable)
	delete(n.spaces, "/ns/a")
	if err := status(n, conf(net30)); err != nil {
		t.Error(err)
	}
}

// What an attachment itself holds goes by its own namespace, not by the
// other's.
func TestAnAttachmentsOwnPartIsReplacedByItsOwnNamespace(t *testing.T) {
	n := twoHold(t)
	n.spaces["/ns/a"] = 55 // a's recorded one is gone, b's lives
	mustAdd(t, n, "a", conf(`"subnet":"10.7.0.0/24"`), "10.7.0.2")
	n.wantHolders(t, "b")
}

// Renewing one holder must not lift the other, dead since the reboot, into
// this boot.
func TestRenewingOneHolderDropsTheOthersDeadPart(t *testing.T) {
	n := twoHold(t)
	n.boot++
	delete(n.spaces, "/ns/b")
	mustAdd(t, n, "a", conf(net30), "10.0.0.2")
	n.wantHolders(t, "a")
}
