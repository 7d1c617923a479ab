package migrate

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/backfill"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

// What makes a lost network known again does not make it whole: othernet, in
// contract, is lost by all of these, and podnet, in switch, has its directory.
var othernetIsLost = map[string]func(*ailing){
	"podnet alone was healed":                    func(n *ailing) { n.damaged(true) },
	"podnet has made a checkpoint before anyone": (*ailing).emptied,
}

// losing is such a node, after the first ADD in podnet.
func losing(t *testing.T, lose func(*ailing)) *ailing {
	t.Helper()
	n, _ := twoNetworks(t, engine.Switch)
	lose(n)
	n.mustAdd("podnet", "switch", "c")
	n.refused("ADD in othernet", second(n.add("othernet", "", "new")), "othernet")
	return n
}

// emptied removes what is in the data directory.
func (n *ailing) emptied() {
	n.t.Helper()
	for _, name := range []string{store.CheckpointFile, store.JournalFile, store.LockFile, store.DeferredDir} {
		if err := os.RemoveAll(n.file(name)); err != nil {
			n.t.Fatal(err)
		}
	}
}

func TestANetworkIsNotWholeForWhatBackfillHasSeenOfIt(t *testing.T) {
	for name, lose := range othernetIsLost {
		t.Run(name, func(t *testing.T) {
			n := losing(t, lose)
			r := n.fills(Backfill{ // which has not seen y
				Configs: []*ipam.Config{n.config("podnet", "10.6.0.0/24", "switch"), n.config("othernet", "10.8.0.0/24", "")},
				Running: []backfill.Sandbox{n.runs("x", "10.8.0.2")},
			})
			if r.Accepted || r.Lost == "" {
				t.Errorf("%+v", r)
			}
			if got, _ := n.held("othernet"); got[netip.MustParseAddr("10.8.0.2")] != "x" {
				t.Errorf("othernet has %v", got)
			}
			n.refused("ADD after backfill", second(n.add("othernet", "", "new")), "othernet")
			if report := n.repaired(store.Repair{}); !slices.Contains(report.Lost, "othernet") {
				t.Errorf("repair says that %q are lost", report.Lost)
			}
			n.refused("ADD after repair", second(n.add("othernet", "", "new")), "othernet")
		})
	}
}

func TestANetworkIsNotWholeForWhatABackupHasOfIt(t *testing.T) {
	for name, lose := range othernetIsLost {
		t.Run(name, func(t *testing.T) {
			backup := ""
			n := losing(t, func(n *ailing) {
				backup = n.backup()
				n.mustAdd("othernet", "", "z") // answered after the backup
				lose(n)
			})
			report, err := n.state(nil).Restore(store.Repair{Backup: backup}, []string{n.cache})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(report.Lost, "othernet") {
				t.Errorf("%q are lost", report.Lost)
			}
			n.refused("ADD", second(n.add("othernet", "", "new")), "othernet")
		})
	}
}

// The tombstone is of this boot, and the checkpoint has no such network: `repair`
// and `--accept` are the way out that ADD names.
func TestWhereATombstoneIsOlderThanTheCheckpointRepairIsTheWayOut(t *testing.T) {
	n := losing(t, (*ailing).emptied)
	if report := n.repaired(store.Repair{}); !report.Others && !slices.Contains(report.Lost, "othernet") {
		t.Errorf("%+v", report)
	}
	n.refused("ADD", second(n.add("othernet", "", "new")), "othernet")
	n.repaired(store.Repair{Accept: true})
	n.mustAdd("othernet", "", "new")
}

// What was kept may name a network that no configuration does, and whose pods the
// runtime does not tell: as multus has them.
func TestALossIsNotAcceptedBeforeTheKeptFileWasSearched(t *testing.T) {
	n, held := twoNetworks(t, engine.Switch)
	z := n.mustAdd("delegate", "", "z")
	n.damaged(true)
	held[n.mustAdd("podnet", "switch", "c")] = "c" // heals podnet alone
	fill := Backfill{Complete: true, Configs: []*ipam.Config{n.config("podnet", "10.6.0.0/24", "switch"), n.config("othernet", "10.8.0.0/24", "")}}
	for addr, id := range held {
		fill.Running = append(fill.Running, n.runs(id, addr.String()))
	}
	fill.Running = append(fill.Running, n.runs("x", "10.8.0.2"), n.runs("y", "10.8.0.3"))
	if r := n.fills(fill); r.Accepted {
		t.Errorf("accepted: %+v", r)
	}
	if got, _ := n.held("delegate"); got[z] != "z" {
		t.Errorf("the delegate has %v", got)
	}
}

// What is lost of one network changes nothing of what a backup brings back in
// another, see the table in docs/reliability.md.
func TestRestoreBringsBackTheLivingAlsoWhereAnotherNetworkIsLost(t *testing.T) {
	for name, lost := range map[string]bool{"nothing is lost": false, "othernet is lost": true} {
		t.Run(name, func(t *testing.T) {
			n, held := twoNetworks(t, engine.Switch)
			backup := n.backup()
			if err := n.plugin().Del(n.call("podnet", "switch", "b")); err != nil { // its namespace is there
				t.Fatal(err)
			}
			n.mustDel("othernet", "", "y")
			n.ended("y")
			if lost {
				n.damaged(true)
			}
			n.mustAdd("podnet", "switch", "c0")
			n.mustDel("podnet", "switch", "c0")
			r, err := n.state(nil).Restore(store.Repair{Backup: backup}, []string{n.cache})
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Contains(r.Lost, "othernet"); got != lost {
				t.Errorf("%q are lost", r.Lost)
			}
			n.mustAdd("podnet", "switch", "c1") // brings both forms together
			got, _ := n.held("podnet")
			for addr, id := range held {
				if id == "b" && got[addr] != "b" {
					t.Errorf("podnet has %v", got)
				}
			}
			if got, _ := n.held("othernet"); slices.Contains(slices.Collect(maps.Values(got)), "y") {
				t.Errorf("othernet has %v, and y has ended", got)
			}
		})
	}
}

func TestADryRunOfBackfillAfterAHealingTellsWhatIsKnown(t *testing.T) {
	n, held := twoNetworks(t, engine.Switch)
	n.damaged(true)
	held[n.mustAdd("podnet", "switch", "c")] = "c" // heals podnet alone
	fill := Backfill{DryRun: true, Complete: true, Configs: []*ipam.Config{n.config("podnet", "10.6.0.0/24", "switch"), n.config("othernet", "10.8.0.0/24", "")}}
	for addr, id := range held {
		fill.Running = append(fill.Running, n.runs(id, addr.String()))
	}
	r, err := n.state(nil).Backfill(fill)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Filled {
		if f.Outcome == backfill.Added {
			t.Errorf("would add %s of %s to %s", f.Addr, f.Holder.ContainerID, f.Network)
		}
	}
	if r.Accepted || r.Lost == "" {
		t.Errorf("accepted %v, lost %q", r.Accepted, r.Lost)
	}
	fill.Configs, fill.Network = nil, "podnet"
	if _, err := n.state(nil).Backfill(fill); err != nil {
		t.Errorf("of podnet, which is stored: %v", err)
	}
}

// In the chained role no directory is known, and ADD is refused all the same.
func TestTheChainedStatusTellsOfALoss(t *testing.T) {
	n, _ := twoNetworks(t, engine.Switch)
	n.damaged(true)
	n.repaired(store.Repair{})
	n.refused("ADD", second(n.add("othernet", "", "new")), "othernet")
	for network, want := range map[string]uint{"othernet": ipam.CodeUnavailable, "podnet": 0} {
		conf := fmt.Appendf(nil, `{"cniVersion":"1.1.0","name":%q,"type":"bolt-local","ipam":{"dataDir":%q}}`, network, n.dir)
		err := n.plugin().Status(ipam.Call{Stdin: conf})
		if want == 0 && err != nil || want != 0 && ipam.CodeOf(err) != want {
			t.Errorf("chained STATUS of %s: %v, want code %d", network, err, want)
		}
	}
}
