package migrate

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

// flip flips one bit of byte at behind each place where the checkpoint has what.
func (n *ailing) flip(what string, at int, bit byte) {
	n.t.Helper()
	b, err := os.ReadFile(n.file(store.CheckpointFile))
	if err != nil {
		n.t.Fatal(err)
	}
	places := regexp.MustCompile("(?s)"+what).FindAllIndex(b, -1)
	if len(places) == 0 {
		n.t.Fatalf("%q is not there", what)
	}
	for _, place := range places {
		b[place[0]+at] ^= bit
	}
	if err := os.WriteFile(n.file(store.CheckpointFile), b, 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// Else all that is held would be free.
func TestAFlippedBitInTheNumberOfABootGivesNoAddressAway(t *testing.T) {
	n, held := twoNetworks(t, engine.Switch)
	n.flip(`boot-000001\x00{7}\x01`, len("boot-000001")+6, 1)
	for _, id := range []string{"c", "d", "e"} {
		addr := n.mustAdd("podnet", "switch", id)
		if held[addr] != "" {
			t.Errorf("%s of %s was given to another", addr, held[addr])
		}
		held[addr] = id
	}
	if got, _ := n.held("podnet"); !maps.Equal(got, held) {
		t.Errorf("podnet has %v, want %v", got, held)
	}
}

// The same without a journal: what a repair finds has to be of this boot, also where
// no namespace tells that it is.
func TestARepairDoesNotBelieveAFlippedNumberOfABoot(t *testing.T) {
	for name, flip := range map[string]func(*ailing){
		"the number": func(n *ailing) { n.flip(`boot-000001\x00{7}\x01`, len("boot-000001")+2, 1) },
		"the boot":   func(n *ailing) { n.flip(`boot-000001\x00{7}\x01`, len("boot-00000"), 2) },
	} {
		t.Run(name, func(t *testing.T) {
			n, held := twoNetworks(t, engine.Switch)
			held[n.mustAdd("podnet", "contract", "c")] = "c"
			if _, err := n.state(nil).Advance("podnet", true); err != nil {
				t.Fatal(err)
			}
			flip(n)
			n.put(store.JournalFile, nil)
			n.refused("ADD", second(n.add("podnet", "contract", "z")))
			n.repaired(store.Repair{Accept: true})
			held[n.mustAdd("podnet", "contract", "z")] = "z"
			if got, phase := n.held("podnet"); !maps.Equal(got, held) || phase != engine.Contract {
				t.Errorf("podnet has %v in %s, want %v", got, phase, held)
			}
		})
	}
}

// In a name, the mark of a loss ends, or what stands in the way of an ADD.
func TestAFlippedBitInANameIsHealed(t *testing.T) {
	n, _ := twoNetworks(t, engine.Switch)
	others, phase := n.held("othernet")
	n.flip("migration", 8, 1)
	others[n.mustAdd("othernet", "", "z")] = "z"
	if got, now := n.held("othernet"); !maps.Equal(got, others) || now != phase {
		t.Errorf("othernet has %v in %s, want %v in %s", got, now, others, phase)
	}
}

func TestAFlippedBitInTheNameOfALossLosesNone(t *testing.T) {
	n, _ := twoNetworks(t, engine.Switch)
	n.damaged(true)
	n.repaired(store.Repair{})
	n.refused("ADD", second(n.add("othernet", "", "z")), "othernet")
	n.flip(`lost.{4}\{"epoch"`, 3, 1)
	if err := os.WriteFile(n.file(store.JournalFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n.refused("ADD", second(n.add("othernet", "", "z")))
	n.repaired(store.Repair{})
	n.refused("ADD after a repair", second(n.add("othernet", "", "z")), "othernet")
	n.repaired(store.Repair{Accept: true})
	n.mustAdd("othernet", "", "z")
}

// A checkpoint in which nothing else is wrong has lost where a network's move
// stands: ADD is refused, and names `repair` and `--accept` as the way out.
func TestWhereATombstoneKnowsOfAMoveThatIsNotStoredRepairIsTheWayOut(t *testing.T) {
	for name, r := range map[string]store.Repair{"repair": {}, "repair --accept": {Accept: true}} {
		t.Run(name, func(t *testing.T) {
			n, _ := twoNetworks(t, engine.Switch)
			others, phase := n.held("othernet")
			db := openCheckpoint(t, filepath.Dir(n.dir), false)
			err := db.Update(func(tx *bolt.Tx) error {
				return errors.Join(deleteAt(tx, "networks/othernet", "migration"), withoutSum(tx), putStamp(tx, tx.ID()))
			})
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			n.refused("ADD", second(n.add("othernet", "", "z")), "othernet")
			if report := n.repaired(r); report.Problem == nil {
				t.Errorf("it reports nothing: %+v", report)
			}
			others[n.mustAdd("othernet", "", "z")] = "z"
			if got, now := n.held("othernet"); !maps.Equal(got, others) || now != phase {
				t.Errorf("othernet has %v in %s, want %v in %s", got, now, others, phase)
			}
			if report := n.repaired(store.Repair{}); report.Problem != nil {
				t.Errorf("it is not whole: %v", report.Problem)
			}
		})
	}
}
