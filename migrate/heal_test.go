package migrate

import (
	"bytes"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

func TestANetworkIsHealedAloneFromItsDirectory(t *testing.T) {
	for _, phase := range []engine.Phase{engine.Legacy, engine.Expand, engine.Switch} {
		t.Run(string(phase), func(t *testing.T) {
			n, held := twoNetworks(t, phase)
			n.damaged(true)
			n.refused("ADD in the other network", second(n.add("othernet", "", "new")), store.CheckpointFile)
			held[n.mustAdd("podnet", string(phase), "c")] = "c"
			if got, now := n.held("podnet"); now != phase || !maps.Equal(got, held) {
				t.Errorf("podnet has %v, in %s; want %v", got, now, held)
			}
			n.refused("ADD in the other network, afterwards", second(n.add("othernet", "", "new")), "othernet")
			if err := n.plugin().Status(n.call("othernet", "", "")); ipam.CodeOf(err) != ipam.CodeUnavailable {
				t.Errorf("STATUS of the other network: %v", err)
			}
			if err := n.plugin().Status(n.call("podnet", string(phase), "")); err != nil {
				t.Errorf("STATUS of podnet: %v", err)
			}
			if kept, err := filepath.Glob(n.file("checkpoint.db.damaged-*")); err != nil || len(kept) != 1 {
				t.Errorf("kept %q, %v", kept, err)
			}
			n.boot = "boot-000002"
			n.mustAdd("othernet", "", "new")
		})
	}
}

func TestWhichCallsHeal(t *testing.T) {
	writes := map[string]func(n *ailing) error{
		"ADD":            func(n *ailing) error { return second(n.add("podnet", "switch", "c")) },
		"ADD again":      func(n *ailing) error { return second(n.add("podnet", "switch", "a")) },
		"DEL":            func(n *ailing) error { return n.plugin().Del(n.call("podnet", "switch", "a")) },
		"GC":             func(n *ailing) error { return n.plugin().GC(n.call("podnet", "switch", "")) },
		"DEL of nothing": func(n *ailing) error { return n.plugin().Del(n.call("podnet", "switch", "nobody")) },
		"release": func(n *ailing) error {
			return n.state(nil).Update(ipam.VerbRelease, "podnet", func(tx ipam.Tx) error { return tx.Delete(netip.MustParseAddr("10.6.0.2")) })
		},
		"a step by hand": func(n *ailing) error { return second(n.state(nil).Rollback("podnet", true)) },
	}
	reads := map[string]func(n *ailing) error{
		"STATUS": func(n *ailing) error { return n.plugin().Status(n.call("podnet", "switch", "")) },
		"CHECK":  func(n *ailing) error { return n.plugin().Check(n.call("podnet", "switch", "a")) },
	}
	for name, call := range writes {
		t.Run(name, func(t *testing.T) {
			n, _ := twoNetworks(t, engine.Switch)
			n.damaged(false)
			if err := call(n); err != nil {
				t.Fatal(err)
			}
			n.held("podnet")
			if got, phase := n.held("othernet"); len(got) != 2 || phase != engine.Contract {
				t.Errorf("othernet has %v, in %s", got, phase)
			}
		})
	}
	for name, call := range reads {
		t.Run(name, func(t *testing.T) {
			n, _ := twoNetworks(t, engine.Switch)
			n.damaged(false)
			before, err := os.ReadFile(n.file(store.CheckpointFile))
			if err != nil {
				t.Fatal(err)
			}
			if err := call(n); err == nil {
				t.Error("it succeeds")
			}
			if after, err := os.ReadFile(n.file(store.CheckpointFile)); err != nil || !bytes.Equal(before, after) {
				t.Errorf("it has written (%v)", err)
			}
		})
	}
}

// Whoever wipes the directory takes what it alone could have told.
func TestANetworkIsNotHealedFromADirectoryThatWasWiped(t *testing.T) {
	wipes := map[string]func(n *ailing){
		"whole": func(n *ailing) { _ = os.RemoveAll(n.file("podnet")) },
		"its contents": func(n *ailing) {
			names, _ := filepath.Glob(n.file("podnet", "*"))
			for _, name := range names {
				_ = os.Remove(name)
			}
		},
		"and host-local ran in it": func(n *ailing) {
			_ = os.RemoveAll(n.file("podnet"))
			n.hostLocalAdds("podnet", "10.6.0.2", "guest")
		},
		"its lock, and host-local ran in it": func(n *ailing) {
			_ = os.Remove(n.file("podnet", "lock"))
			n.hostLocalAdds("podnet", "10.6.0.9", "guest")
		},
	}
	// Whether it was is told by the network's document, wherever that is left.
	for where, journal := range map[string]func(n *ailing){
		"the journal tells": func(n *ailing) {
			b, err := os.ReadFile(n.file(store.JournalFile))
			if err == nil {
				err = os.WriteFile(n.file(store.JournalFile), b[:len(b)-9], 0o600) // an answered line is cut
			}
			if err != nil {
				n.t.Fatal(err)
			}
		},
		"the damaged file tells": func(n *ailing) { _ = os.Remove(n.file(store.JournalFile)) },
	} {
		for name, wipe := range wipes {
			t.Run(name+", "+where, func(t *testing.T) {
				n, _ := twoNetworks(t, engine.Switch)
				n.damaged(false)
				journal(n)
				wipe(n)
				n.refused("ADD", second(n.add("podnet", "switch", "c")))
			})
		}
	}
}

// So it is where another network's call has healed that one before.
func TestAWipedDirectoryIsNotBelievedOnceAnotherNetworkWasHealed(t *testing.T) {
	n, _ := twoNetworks(t, engine.Switch)
	n.mustAdd("third", "switch", "p")
	if err := os.RemoveAll(n.file("third")); err != nil {
		t.Fatal(err)
	}
	n.hostLocalAdds("third", "10.9.0.77", "guest")
	n.damaged(true)
	n.refused("ADD", second(n.add("third", "switch", "new")))
	n.mustAdd("podnet", "switch", "c")
	n.refused("ADD, after one in podnet", second(n.add("third", "switch", "new")))
}

// A directory that was not wiped is, whoever comes first.
func TestEachNetworkIsHealedFromItsDirectory(t *testing.T) {
	n, _ := twoNetworks(t, engine.Switch)
	p := n.mustAdd("third", "switch", "p")
	n.damaged(true)
	n.mustAdd("podnet", "switch", "c")
	q := n.mustAdd("third", "switch", "q")
	n.expectHeld("third", map[string]string{p.String(): "p", q.String(): "q"})
}

// heldTwice lets a and guest hold an address of a network, whose directory was wiped.
// before is one that host-local has given to a pod there.
func (n *ailing) heldTwice(network, before string) netip.Addr {
	n.t.Helper()
	n.hostLocalAdds(network, before, "old")
	addr := n.mustAdd(network, "switch", "a")
	if err := os.RemoveAll(n.file(network)); err != nil {
		n.t.Fatal(err)
	}
	n.hostLocalAdds(network, addr.String(), "guest")
	n.mustAdd(network, "switch", "b") // both hold it from now on
	n.mustAdd(network, "switch", "d") // and both meta pages say so
	return addr
}

// A directory can name one holder of an address.
func TestANetworkWithTwoHoldersOfAnAddressIsNotHealedFromItsDirectory(t *testing.T) {
	n := newAiling(t)
	addr := n.heldTwice("podnet", "10.6.0.50")
	n.damaged(true)
	n.refused("ADD", second(n.add("podnet", "switch", "c")), addr.String(), "several holders")
	if report := n.repaired(store.Repair{}); len(report.Allocations) == 0 {
		t.Error("repair finds nothing")
	}
	if err := n.plugin().Del(n.call("podnet", "switch", "guest")); err != nil {
		t.Fatal(err)
	}
	if got, _ := n.held("podnet"); got[addr] != "a" {
		t.Errorf("%s is not held by a: %v", addr, got)
	}
}

// Nor where another network's call has healed the checkpoint before.
func TestANetworkWithTwoHoldersIsRefusedAfterAnotherWasHealed(t *testing.T) {
	n, _ := twoNetworks(t, engine.Switch)
	n.heldTwice("third", "10.5.0.50")
	n.damaged(true)
	n.mustAdd("podnet", "switch", "c")
	n.refused("ADD", second(n.add("third", "switch", "e")), "third")
}

// A directory in another place than the network's is none of its witnesses.
func TestANetworkIsNotHealedFromADirectoryInAnotherPlace(t *testing.T) {
	for _, phase := range []engine.Phase{engine.Legacy, engine.Switch} {
		t.Run(string(phase), func(t *testing.T) {
			n, _ := twoNetworks(t, phase)
			other := filepath.Join(filepath.Dir(n.dir), "other")
			n.hostLocalAdds("../other/podnet", "10.6.0.77", "unrelated")
			add := n.call("podnet", string(phase), "new")
			add.Stdin = []byte(strings.Replace(string(add.Stdin), `"migration":{`, `"migration":{"hostLocalDir":"`+other+`",`, 1))
			if _, err := n.plugin().Add(add); ipam.CodeOf(err) != ipam.CodeConfig {
				t.Fatalf("before the damage: %v", err)
			}
			n.damaged(true)
			_, err := n.plugin().Add(add)
			n.refused("ADD", err)
		})
	}
}

func TestANetworkInContractIsNotHealedAlone(t *testing.T) {
	n := newAiling(t)
	n.mustAdd("podnet", "", "a")
	n.damaged(true)
	n.refused("ADD", second(n.add("podnet", "", "c")))
	if err := n.plugin().Del(n.call("podnet", "", "a")); err != nil {
		t.Errorf("DEL: %v", err)
	}
	if got := n.state(nil).Store.CountDeferred(); got != 1 {
		t.Errorf("%d DELs wait", got)
	}
}

// Lock and journal may be lost with the checkpoint; the tombstone stands
// elsewhere.
func TestATombstoneOfThisBootKeepsANetworkShut(t *testing.T) {
	for name, c := range map[string]struct {
		gone []string
		boot string
		want bool // ADD is refused
	}{
		"all else is gone":                        {[]string{store.CheckpointFile, store.LockFile, store.JournalFile}, "boot-000001", true},
		"all else is gone, in a new boot":         {[]string{store.CheckpointFile, store.LockFile, store.JournalFile}, "boot-000002", false},
		"the checkpoint is spoilt":                {[]string{store.LockFile, store.JournalFile}, "boot-000001", true},
		"the checkpoint is spoilt, in a new boot": {[]string{store.LockFile, store.JournalFile}, "boot-000002", false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			n.mustAdd("podnet", "", "a")
			if !slices.Contains(c.gone, store.CheckpointFile) {
				n.damaged(false)
			}
			for _, file := range c.gone {
				if err := os.Remove(n.file(file)); err != nil {
					t.Fatal(err)
				}
			}
			n.boot = c.boot
			addr, err := n.add("podnet", "", "new")
			if c.want {
				n.refused("ADD", err)
			} else if err != nil || addr != netip.MustParseAddr("10.6.0.2") {
				t.Errorf("ADD: %v, %v", addr, err)
			}
		})
	}
}

// The journal tells what this node wrote, and the directory what host-local did
// since.
func TestAHealedNetworkTakesOverWhatHostLocalDidMeanwhile(t *testing.T) {
	n, held := twoNetworks(t, engine.Switch)
	n.damaged(false)
	n.hostLocalAdds("podnet", "10.6.0.77", "guest")
	if err := os.Remove(n.file("podnet", "10.6.0.2")); err != nil { // its DEL of old
		t.Fatal(err)
	}
	delete(held, netip.MustParseAddr("10.6.0.2"))
	held[netip.MustParseAddr("10.6.0.77")] = "guest"
	held[n.mustAdd("podnet", "switch", "c")] = "c"
	if got, phase := n.held("podnet"); !maps.Equal(got, held) || phase != engine.Switch {
		t.Errorf("podnet has %v, in %s; want %v", got, phase, held)
	}
}

// Whatever stands in a directory's place tells of no boot, unless it is ours.
func TestAFileOfSomebodyElseDoesNotKeepANewBootFromHealing(t *testing.T) {
	n := newAiling(t)
	n.mustAdd("podnet", "", "a")
	n.damaged(true)
	if err := os.WriteFile(n.file("podnet"), []byte("none of ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.boot = "boot-000002"
	if err := n.state(n.config("podnet", "10.6.0.0/24", "")).Heal("podnet"); err != nil {
		t.Error(err)
	}
}
