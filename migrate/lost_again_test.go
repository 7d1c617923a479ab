package migrate

import (
	"os"
	"slices"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

// A directory that was wiped is not believed after more damage, or a repair, either.
func TestWhatIsKnownOfALostNetworksDirectoryOutlastsMoreDamage(t *testing.T) {
	for name, then := range map[string]func(*ailing){
		"damaged again, and met by the network itself": func(n *ailing) { n.damaged(true) },
		"damaged again, and healed by podnet":          func(n *ailing) { n.damaged(true); n.mustAdd("podnet", "switch", "d") },
		"acknowledged, and repaired with a directory named": func(n *ailing) {
			err := n.state(nil).Store.Update(store.Op{Verb: "repair"}, (*store.Tx).Acknowledge)
			if err != nil {
				n.t.Fatal(err)
			}
			n.repaired(store.Repair{Again: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := twoNetworks(t, engine.Switch)
			n.hostLocalAdds("third", "10.9.0.2", "old2")
			n.mustAdd("third", "switch", "p")
			n.mustAdd("third", "switch", "q")
			if err := os.RemoveAll(n.file("third")); err != nil { // wiped, and host-local began anew
				t.Fatal(err)
			}
			n.hostLocalAdds("third", "10.9.0.9", "guest")
			n.damaged(true)
			n.mustAdd("podnet", "switch", "c")
			n.refused("ADD", second(n.add("third", "switch", "new")), "third")
			then(n)
			if addr, err := n.add("third", "switch", "new"); err == nil {
				t.Errorf("ADD is served: %v", addr)
			}
		})
	}
}

// A mark of what was lost counts also where it is damaged itself.
func TestALossThatCannotBeReadDoesNotEnd(t *testing.T) {
	n, _ := twoNetworks(t, engine.Switch)
	n.mustAdd("elsewhere", "", "z")
	if err := os.Remove(n.file("elsewhere")); err != nil { // stands for a tombstone in another directory
		t.Fatal(err)
	}
	n.damaged(true)
	n.mustAdd("podnet", "switch", "c")
	n.refused("ADD", second(n.add("elsewhere", "", "new")), "elsewhere")
	n.flips(`a damaged checkpoint may have had it`)
	n.refused("ADD, flipped", second(n.add("elsewhere", "", "new")))
	if err := os.Remove(n.file(store.JournalFile)); err != nil {
		t.Fatal(err)
	}
	n.mustAdd("podnet", "switch", "d") // begins the journal anew, with the flipped bit
	n.damaged(false)
	n.repaired(store.Repair{})
	if addr, err := n.add("elsewhere", "", "new"); err == nil {
		t.Errorf("ADD is served: %v, which z may have", addr)
	}
}

// A DEL that waits makes no network, and is not void in one that is lost.
func TestADelThatWaitsDoesNotMakeALostNetworkKnown(t *testing.T) {
	for name, call := range map[string]func(*ailing) error{
		"gc --network": func(n *ailing) error {
			return n.state(nil).Update(ipam.VerbOperatorGC, "othernet", func(ipam.Tx) error { return nil })
		},
		"a DEL": func(n *ailing) error { return n.plugin().Del(n.call("othernet", "", "y")) },
		"a GC":  func(n *ailing) error { return n.plugin().GC(n.call("othernet", "", "y")) },
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := twoNetworks(t, engine.Switch)
			n.emptied()
			if err := n.plugin().Del(n.call("othernet", "", "x")); err != nil {
				t.Fatal(err)
			}
			n.mustAdd("podnet", "switch", "c")
			n.refused("ADD in othernet", second(n.add("othernet", "", "new")), "othernet")
			if err := call(n); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got := n.networks(); slices.Contains(got, "othernet") {
				t.Errorf("stored are %q", got)
			}
			if got := n.state(nil).Store.CountDeferred(); got == 0 {
				t.Error("no DEL waits any more")
			}
			n.repaired(store.Repair{Accept: true})
			n.mustAdd("othernet", "", "new")
		})
	}
}
