package migrate

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

func (n *ailing) repaired(r store.Repair) store.Report {
	n.t.Helper()
	report, err := n.state(nil).Repair(r, []string{n.cache})
	if err != nil {
		n.t.Fatalf("repair: %v", err)
	}
	return report
}

// cached leaves what libcni keeps of an attachment.
func (n *ailing) cached(network, addr, id string) {
	n.t.Helper()
	doc := fmt.Sprintf(`{"kind":"cniCacheV1","containerId":%q,"ifName":"eth0","networkName":%q,"netns":"/ns/%[1]s","result":{"cniVersion":"1.0.0","ips":[{"address":"%[3]s/24"}]}}`, id, network, addr)
	err := os.MkdirAll(n.cache, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(n.cache, network+"-"+id+"-eth0"), []byte(doc), 0o600)
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

// lostAll leaves nothing that could be read of the checkpoint.
func (n *ailing) lostAll() {
	n.t.Helper()
	for name, content := range map[string]string{store.CheckpointFile: strings.Repeat("{}\n", 4000), store.JournalFile: ""} {
		if err := os.WriteFile(n.file(name), []byte(content), 0o600); err != nil {
			n.t.Fatal(err)
		}
	}
}

func TestRepairFindsWhatDirectoriesCachesAndTombstonesKnow(t *testing.T) {
	for _, phase := range []engine.Phase{engine.Expand, engine.Switch} {
		t.Run(string(phase), func(t *testing.T) {
			n, held := twoNetworks(t, phase)
			others, _ := n.held("othernet")
			addr := netip.MustParseAddr("10.8.0.2")
			n.cached("othernet", addr.String(), others[addr])
			n.cached("othernet", "10.8.0.9", "gone") // no namespace is there
			n.lostAll()
			report := n.repaired(store.Repair{})
			if !report.Others || !slices.Contains(report.Lost, "othernet") {
				t.Errorf("lost %q, others %v", report.Lost, report.Others)
			}
			if got, now := n.held("othernet"); !maps.Equal(got, map[netip.Addr]string{addr: others[addr]}) || now != engine.Contract {
				t.Errorf("othernet has %v, in %s", got, now)
			}
			n.refused("ADD in othernet", second(n.add("othernet", "", "new")))
			held[n.mustAdd("podnet", string(phase), "c")] = "c"
			if got, _ := n.held("podnet"); !maps.Equal(got, held) {
				t.Errorf("podnet has %v, want %v", got, held)
			}
			n.repaired(store.Repair{Accept: true})
			if got := n.mustAdd("othernet", "", "new"); got == addr {
				t.Errorf("%s is given again", got)
			}
			n.held("othernet")
		})
	}
}

// A network of which nothing but the tombstone is left is shut, and stays so.
func TestRepairOfANetworkThatOnlyItsTombstoneNames(t *testing.T) {
	n := newAiling(t)
	n.mustAdd("podnet", "", "a")
	tombstone, err := os.ReadFile(n.file("podnet"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{store.CheckpointFile, store.JournalFile, store.LockFile} {
		if err := os.Remove(n.file(name)); err != nil {
			t.Fatal(err)
		}
	}
	report := n.repaired(store.Repair{})
	if !report.Others && !slices.Contains(report.Lost, "podnet") {
		t.Errorf("report %+v", report)
	}
	n.refused("ADD", second(n.add("podnet", "", "b")))
	n.repaired(store.Repair{Accept: true})
	n.mustAdd("podnet", "", "b")
	if _, phase := n.held("podnet"); phase != engine.Contract {
		t.Errorf("phase %s", phase)
	}
	if after, err := os.ReadFile(n.file("podnet")); err != nil || string(after) != string(tombstone) {
		t.Errorf("the tombstone: %s, %v", after, err)
	}
}

func TestATombstoneOfAnotherDataDirectoryIsNoSource(t *testing.T) {
	other := newAiling(t)
	other.mustAdd("strange", "", "a")
	tombstone, err := os.ReadFile(other.file("strange"))
	if err != nil {
		t.Fatal(err)
	}
	n := newAiling(t)
	n.mustAdd("podnet", "", "a")
	for name, content := range map[string][]byte{"strange": tombstone, "renamed": tombstone} {
		if err := os.WriteFile(n.file(name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.lostAll()
	report := n.repaired(store.Repair{})
	if slices.Contains(report.Lost, "strange") || slices.Contains(report.Lost, "renamed") {
		t.Errorf("lost %q", report.Lost)
	}
}

// What is left of an older state must not stay beside a directory that knows
// better.
func TestRepairLeavesBothFormsAlike(t *testing.T) {
	for name, lose := range map[string]func(n *ailing, older map[string][]byte){
		"from an older copy": func(n *ailing, older map[string][]byte) {
			n.put(store.CheckpointFile, older[store.CheckpointFile])
			n.put(store.JournalFile, nil)
		},
		"from an older journal": func(n *ailing, older map[string][]byte) {
			n.put(store.CheckpointFile, nil)
			n.put(store.JournalFile, older[store.JournalFile])
		},
		"from a damaged file and an older journal": func(n *ailing, older map[string][]byte) {
			n.damaged(false)
			n.put(store.JournalFile, older[store.JournalFile])
		},
		"from a backup": func(n *ailing, _ map[string][]byte) { n.lostAll() },
	} {
		for _, phase := range []engine.Phase{engine.Expand, engine.Switch} {
			t.Run(name+", "+string(phase), func(t *testing.T) {
				n, held := twoNetworks(t, phase)
				backup := n.backup()
				older := map[string][]byte{}
				for _, file := range []string{store.CheckpointFile, store.JournalFile} {
					b, err := os.ReadFile(n.file(file))
					if err != nil {
						t.Fatal(err)
					}
					older[file] = b
				}
				n.ended("a")
				if err := n.plugin().Del(n.call("podnet", string(phase), "a")); err != nil {
					t.Fatal(err)
				}
				n.ended("a")
				maps.DeleteFunc(held, func(_ netip.Addr, id string) bool { return id == "a" })
				held[n.mustAdd("podnet", string(phase), "c")] = "c"
				lose(n, older)
				n.repaired(store.Repair{Backup: backup})
				held[n.mustAdd("podnet", string(phase), "d")] = "d"
				if got, now := n.held("podnet"); !maps.Equal(got, held) || now != phase {
					t.Errorf("podnet has %v, in %s; want %v", got, now, held)
				}
			})
		}
	}
}

// In legacy the directory alone counts. What a repair or a restore has recorded
// nobody keeps up, and it must not come back with the first step.
func TestWhatIsRecordedOfANetworkInLegacyDoesNotComeBack(t *testing.T) {
	for name, record := range map[string]func(*ailing){
		"by a repair": func(n *ailing) { n.damaged(true); n.repaired(store.Repair{}) },
		"by a restore": func(n *ailing) {
			n.mustAdd("podnet", "expand", "c")
			backup := n.backup()
			n.mustAdd("podnet", "legacy", "c")
			if _, err := n.state(nil).Restore(store.Repair{Backup: backup}, nil); err != nil {
				n.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			a := n.mustAdd("podnet", "legacy", "a")
			record(n)
			if err := n.plugin().Del(n.call("podnet", "legacy", "a")); err != nil {
				t.Fatal(err)
			}
			n.ended("a")
			n.hostLocalAdds("podnet", a.String(), "guest")
			n.warned = nil
			n.mustAdd("podnet", "expand", "d")
			if got, _ := n.held("podnet"); got[a] != "guest" {
				t.Errorf("%s is held by %q", a, got[a])
			}
			if told := strings.Join(n.warned, "\n"); !strings.Contains(told, "took over") || strings.Contains(told, "again") {
				t.Errorf("told: %s", told)
			}
		})
	}
}

func (n *ailing) put(name string, content []byte) {
	n.t.Helper()
	if err := os.WriteFile(n.file(name), content, 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// backup is taken now.
func (n *ailing) backup() string {
	n.t.Helper()
	path := filepath.Join(n.t.TempDir(), "backup")
	f, err := os.Create(path)
	if err != nil {
		n.t.Fatal(err)
	}
	defer f.Close()
	if err := n.state(nil).Store.Backup(f); err != nil {
		n.t.Fatal(err)
	}
	return path
}

// A pod of the backup that lives gets its address back, in the directory too.
func TestRestoreLeavesBothFormsAlike(t *testing.T) {
	for _, phase := range []engine.Phase{engine.Legacy, engine.Expand, engine.Switch, engine.Contract} {
		t.Run(string(phase), func(t *testing.T) {
			n := newAiling(t)
			held := map[netip.Addr]string{n.mustAdd("podnet", string(phase), "a"): "a", n.mustAdd("podnet", string(phase), "b"): "b"}
			backup := n.backup()
			for _, id := range []string{"a", "b"} { // both are freed, and a lives all the same
				if err := n.plugin().Del(n.call("podnet", string(phase), id)); err != nil {
					t.Fatal(err)
				}
			}
			n.ended("b")
			report, err := n.state(nil).Restore(store.Repair{Backup: backup}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if phase != engine.Legacy && len(report.Notes) != 2 {
				t.Errorf("notes %q", report.Notes)
			}
			maps.DeleteFunc(held, func(_ netip.Addr, id string) bool { return id == "b" || phase == engine.Legacy })
			held[n.mustAdd("podnet", string(phase), "c")] = "c"
			got, now := n.held("podnet")
			if now != phase || !maps.Equal(got, held) {
				t.Errorf("podnet has %v, in %s; want %v", got, now, held)
			}
			for addr, id := range held {
				if _, err := os.Stat(n.file("podnet", addr.String())); (err == nil) != (phase != engine.Contract) {
					t.Errorf("the file of %s, which %s holds: %v", addr, id, err)
				}
			}
		})
	}
}

// What is put into the checkpoint of such a network counts for nobody.
func TestRestoreTakesNothingInLegacy(t *testing.T) {
	n := newAiling(t)
	n.mustAdd("podnet", "switch", "a")
	n.mustAdd("podnet", "switch", "b")
	backup := n.backup()
	for range 2 {
		n.mustAdd("podnet", "legacy", "a")
	}
	if err := n.plugin().Del(n.call("podnet", "legacy", "b")); err != nil { // and b lives all the same
		t.Fatal(err)
	}
	report, err := n.state(nil).Restore(store.Repair{Backup: backup}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Allocations) != 0 || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "podnet is in legacy") {
		t.Errorf("allocations %v, notes %q", report.Allocations, report.Notes)
	}
	if got, now := n.held("podnet"); now != engine.Legacy || len(got) != 1 {
		t.Errorf("podnet has %v, in %s", got, now)
	}
}

// Until the next call the network is stored in contract, and its directory is open.
func TestRestoreAfterAStepBackFromContractLeavesBothFormsAlike(t *testing.T) {
	n := newAiling(t)
	held := map[netip.Addr]string{n.mustAdd("podnet", "", "a"): "a"}
	b := n.mustAdd("podnet", "", "b")
	held[b] = "b"
	backup := n.backup()
	if err := n.plugin().Del(n.call("podnet", "", "b")); err != nil { // and b lives all the same
		t.Fatal(err)
	}
	if _, err := n.state(nil).Rollback("podnet", true); err != nil {
		t.Fatal(err)
	}
	if _, err := n.state(nil).Restore(store.Repair{Backup: backup}, nil); err != nil {
		t.Fatal(err)
	}
	held[n.mustAdd("podnet", "", "c")] = "c"
	if got, now := n.held("podnet"); now != engine.Switch || !maps.Equal(got, held) {
		t.Errorf("podnet has %v, in %s; want %v, in switch", got, now, held)
	}
	if _, err := os.Stat(n.file("podnet", b.String())); err != nil {
		t.Errorf("host-local would give %s out, which b has: %v", b, err)
	}
}

// One bit of what is stored of a network's move is damage for all calls. Else a
// journal would be begun anew from it, and taken for complete.
func TestADamagedMigrationIsNoticedByTheCallOfAnotherNetwork(t *testing.T) {
	for name, gone := range map[string][]string{
		"it is healed from the journal": nil,
		"there is no journal":           {store.JournalFile},
		"nor a tombstone":               {store.JournalFile, "othernet"},
		"there is no tombstone":         {"othernet"},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := twoNetworks(t, engine.Switch)
			n.flips(`"phase":"contract"`)
			for _, file := range gone {
				if err := os.Remove(n.file(file)); err != nil {
					t.Fatal(err)
				}
			}
			n.mustAdd("podnet", "switch", "c")
			if slices.Contains(gone, store.JournalFile) { // podnet alone was healed
				n.refused("ADD", second(n.add("othernet", "", "new")), "othernet")
				n.repaired(store.Repair{Accept: true})
			}
			n.expectHeld("othernet", map[string]string{"10.8.0.2": "x", "10.8.0.3": "y"})
			n.mustAdd("othernet", "", "new")
		})
	}
}

// flips flips a bit in each copy of text in the checkpoint.
func (n *ailing) flips(text string) {
	n.t.Helper()
	b, err := os.ReadFile(n.file(store.CheckpointFile))
	if err != nil {
		n.t.Fatal(err)
	}
	flipped := []byte(text)
	flipped[len(flipped)-2] ^= 1
	if !bytes.Contains(b, []byte(text)) {
		n.t.Fatalf("the checkpoint does not have %q", text)
	}
	if err := os.WriteFile(n.file(store.CheckpointFile), bytes.ReplaceAll(b, []byte(text), flipped), 0o600); err != nil {
		n.t.Fatal(err)
	}
}
