package store

import (
	"errors"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestADryRunChangesNothing(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			n := sixHeld(t)
			n.cutJournal(1)
			damage(n)
			before := n.files()
			dry := n.mend(Repair{DryRun: true, Accept: true})
			if diff := cmp.Diff(before, n.files()); diff != "" {
				t.Errorf("files (-before +after):\n%s", diff)
			}
			report := n.mend(Repair{Accept: true})
			if diff := cmp.Diff(dry.lines(), report.lines()); diff != "" {
				t.Errorf("(-dry run +repair):\n%s", diff)
			}
		})
	}
}

// files are all in the data directory, with what they hold.
func (n *node) files() map[string]string {
	n.t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		n.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			all[e.Name()] = string(n.read(e.Name()))
		}
	}
	return all
}

func TestARepairedCheckpointIsNotRepairedAgain(t *testing.T) {
	for name, r := range map[string]func(*node) Repair{
		"without a backup": func(*node) Repair { return Repair{} },
		"with a backup":    func(n *node) Repair { return Repair{Backup: n.file("backup")} },
		"and accepted":     func(*node) Repair { return Repair{Accept: true} },
	} {
		t.Run(name, func(t *testing.T) {
			n := sixHeld(t)
			n.backUpAt(2)
			n.cutJournal(2)
			n.zero(0)
			first := n.mend(r(n))
			before := n.files()
			again := n.mend(r(n))
			if diff := cmp.Diff(before, n.files()); diff != "" {
				t.Errorf("files (-first +second):\n%s", diff)
			}
			if !slices.Equal(again.Lost, first.Lost) || again.Others != first.Others {
				t.Errorf("lost %q, %v; the first time %q, %v", again.Lost, again.Others, first.Lost, first.Others)
			}
		})
	}
}

func TestWhatIsAcceptedIsWhole(t *testing.T) {
	for name, times := range map[string][]Repair{
		"at once":     {{Accept: true}},
		"afterwards":  {{}, {Accept: true}},
		"in two runs": {{}, {}, {Accept: true}},
	} {
		t.Run(name, func(t *testing.T) {
			n := sixHeld(t)
			n.cutJournal(2)
			n.write(CheckpointFile, nil)
			for i, r := range times {
				report := n.mend(r)
				if got := len(report.Lost) > 0; got == r.Accept {
					t.Errorf("run %d: lost %q", i+1, report.Lost)
				}
			}
			n.refusesLost("podnet", false)
			n.refusesLost("elsewhere", false)
			if got := n.held(); !maps.Equal(got, six(4)) {
				t.Errorf("held %v", got)
			}
		})
	}
}

func TestANewBootMissesNothing(t *testing.T) {
	n := sixHeld(t)
	n.cutJournal(2)
	n.write(CheckpointFile, nil)
	n.mend(Repair{})
	n.boot = "boot-002"
	n.refusesLost("podnet", false)
	n.add("10.0.0.2", "x")
	if report := n.mend(Repair{}); report.Problem != nil {
		t.Errorf("problem %v", report.Problem)
	}
}

// One network was healed from its older form, and the other is looked for in the
// file that was damaged: once, as what is freed afterwards must stay free.
func TestAKeptFileIsSearchedOnce(t *testing.T) {
	n := sixHeld(t)
	err := n.Update(opAdd, func(tx *Tx) error { return tx.Network("other").Put(allocation(tx.Epoch(), "10.1.0.2", "o")) })
	if err != nil {
		t.Fatal(err)
	}
	n.healedFromOldForm("podnet", "10.0.0.9", "new") // which does not have c0
	n.refusesLost("other", true)
	report := n.mend(Repair{})
	found := slices.ContainsFunc(report.Allocations, func(v Vouched) bool { return v.Network == "other" && v.Allocation.Addr == ip("10.1.0.2") })
	if !found || !slices.Contains(report.Lost, "other") || slices.Contains(report.Lost, "podnet") {
		t.Errorf("lost %q, found %q", report.Lost, report.lines())
	}
	n.refusesLost("podnet", false)
	if _, risen := n.held()["10.0.0.2"]; risen {
		t.Error("what the older form had not has come back in podnet")
	}
	err = n.Update(opDel, func(tx *Tx) error { return tx.Network("other").Delete(ip("10.1.0.2")) })
	if err != nil {
		t.Fatal(err)
	}
	if again := n.mend(Repair{}); len(again.Allocations) > 0 {
		t.Errorf("found again: %q", again.lines())
	}
}

// What a file has kept is not forgotten with the one that replaced it.
func TestRepairSearchesWhatTheHealingBeforeTheLastHasKept(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.add("10.0.0.3", "b")
	want := n.held()
	n.healedFromOldForm("other", "10.1.0.2", "x")
	n.healedFromOldForm("other", "10.1.0.2", "x")
	if got := len(n.damages()); got != 2 {
		t.Errorf("%d former damages are told of, want 2", got)
	}
	n.mend(Repair{})
	if got := n.held(); !maps.Equal(got, want) {
		t.Errorf("held %v, want %v", got, want)
	}
}

// Nothing more is found, and that is noted: the next repair has nothing to search,
// unless it is told of sources.
func TestWhatWasSearchedInVainIsNoted(t *testing.T) {
	n := newNode(t)
	n.add("10.1.0.2", "x")
	n.healedFromOldForm("podnet", "10.1.0.2", "x")
	for range 2 {
		n.mend(Repair{})
		if d := n.damages(); len(d) == 0 || slices.ContainsFunc(d, Damage.Unsearched) {
			t.Errorf("former damage: %+v", d)
		}
	}
	asked := 0
	r := Repair{Witnesses: func(map[string][]byte) ([]Witness, error) { asked++; return nil, nil }}
	n.mend(r)
	if r.Again = true; asked != 0 {
		t.Error("the witnesses were asked once more")
	}
	if n.mend(r); asked != 1 {
		t.Error("the sources that are named are not asked")
	}
}

// A network that a transaction makes, while networks are lost, may be one of them.
func TestWhatIsWrittenOfALostNetworkDoesNotMakeItWhole(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.healedFromOldForm("other", "10.1.0.2", "x")
	n.refusesLost("other", false)
	if err := n.update(Op{Verb: "backfill"}, func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.2", "a")) }); err != nil {
		t.Fatal(err)
	}
	n.refusesLost("podnet", true)
}

func TestRepairNeedsNothingWhereNothingIsDamaged(t *testing.T) {
	n := sixHeld(t)
	before := n.files()
	report := n.mend(Repair{Accept: true})
	if report.Problem != nil || len(report.Allocations)+len(report.Lost) > 0 || report.Others {
		t.Errorf("report %+v", report)
	}
	if diff := cmp.Diff(before, n.files()); diff != "" {
		t.Errorf("files:\n%s", diff)
	}
}

func TestRepairOfWhatIsNotThere(t *testing.T) {
	n := newNode(t)
	if _, err := n.Repair(Repair{Deadline: time.Now().Add(time.Second), Alive: alive}); !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(n.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
}

func TestRepairTellsWhyAWitnessFailed(t *testing.T) {
	n := sixHeld(t)
	n.write(JournalFile, nil)
	n.zero(0)
	before := n.files()
	_, err := n.Repair(Repair{Deadline: time.Now().Add(time.Second), Alive: alive, Witnesses: func(map[string][]byte) ([]Witness, error) { return nil, errTest }})
	if !errors.Is(err, errTest) || !maps.Equal(before, n.files()) {
		t.Errorf("error %v", err)
	}
}
