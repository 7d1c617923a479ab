package store

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/store/record"
)

// A pod that was found is of the boot in which it was: the next reboot frees its
// address as it does any other. Where even the file does not tell of the boot,
// lock does.
func TestWhatWasRepairedEndsWithTheBoot(t *testing.T) {
	for name, damage := range map[string]func(*node){
		"from a page":   func(n *node) { n.zero(0) },
		"from a backup": func(n *node) { n.write(CheckpointFile, bytes.Repeat([]byte("{}\n"), 10000)) },
	} {
		t.Run(name, func(t *testing.T) {
			n := sixHeld(t)
			n.backUpAt(3)
			n.write(JournalFile, nil)
			damage(n)
			n.mend(Repair{Backup: n.file("backup")})
			n.boot = "boot-002"
			n.del("10.0.0.99") // of a runtime
			current, of := n.epochs()
			if len(of) == 0 {
				t.Error("nothing is held")
			}
			for addr, epoch := range of {
				if epoch == 0 || epoch == current {
					t.Errorf("%s counts as of this boot: %d in %d", addr, epoch, current)
				}
			}
		})
	}
}

// With a complete journal all others are out of date: what they have was freed.
func TestBesideACompleteJournalNothingElseCounts(t *testing.T) {
	n := sixHeld(t)
	older := n.read(CheckpointFile)
	n.write("backup", n.backup())
	n.del("10.0.0.3")
	n.del("10.0.0.4")
	n.add("10.0.0.4", "newer")
	want := n.held()
	n.write(CheckpointFile, older)
	report := n.mend(Repair{Backup: n.file("backup"), Witnesses: knowing(
		Witness{Network: "podnet", Name: "cache", Allocations: []record.Allocation{{Addr: ip("10.0.0.3"), Holders: holdersOf([]string{"c1/eth0+"})}}},
	)})
	if report.Complete != "the journal" {
		t.Errorf("complete is %q", report.Complete)
	}
	if diff := cmp.Diff(want, n.held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

// That allocations are missing is a part of what a journal tells; what it does
// not know of is searched for.
func TestALossSurvivesTheRepairFromACompleteJournal(t *testing.T) {
	n := sixHeld(t)
	n.write(JournalFile, nil)
	n.write(CheckpointFile, bytes.Repeat([]byte("{}\n"), 10000))
	n.mend(Repair{})
	n.zero(0)
	report := n.mend(Repair{})
	if report.Complete != "the journal" || !report.Others {
		t.Errorf("complete %q, others %v", report.Complete, report.Others)
	}
	n.refusesLost("podnet", true)
	n.boot = "boot-002"
	n.zero(0)
	if report := n.mend(Repair{}); report.Others || len(report.Lost) > 0 {
		t.Errorf("in the next boot: lost %q, others %v", report.Lost, report.Others)
	}
}

// Two checkpoints have counted the boots for themselves.
func TestTheNumbersOfBootsComeFromOneCheckpoint(t *testing.T) {
	n := newNode(t)
	for i := range 3 {
		n.boot = fmt.Sprintf("boot-00%d", i+1)
		n.add(fmt.Sprintf("10.0.0.%d", 2+i), n.boot)
	}
	n.write(JournalFile, nil)
	n.zero(0)
	if err := n.Heal(Heal{Deadline: time.Now().Add(5 * time.Second), Network: "podnet", Complete: func([]byte) bool { return true }}); err != nil {
		t.Fatal(err)
	}
	n.mend(Repair{}) // it searches the file that was kept
	n.add("10.0.0.9", "new")
	current, of := n.epochs()
	if diff := cmp.Diff(map[string]uint64{"10.0.0.4": current, "10.0.0.9": current}, of); diff != "" {
		t.Errorf("numbers of boots in %d (-want +got):\n%s", current, diff)
	}
	if w, _, err := readWitness(n.file(LockFile)); err != nil || w.BootID != n.boot {
		t.Errorf("lock names %q (%v), and it is %s", w.BootID, err, n.boot)
	}
}

// A page that nothing leads to keeps what was freed or left long ago.
func TestScrapsOfEarlierBootsAreNotTakenOver(t *testing.T) {
	n, _ := sixtyHeld(t)
	n.boot = "boot-002"
	want := map[string]string{}
	for i := range 5 {
		addr := fmt.Sprintf("10.0.1.%d", 2+i)
		n.add(addr, "new")
		want[addr] = "new"
	}
	n.write(JournalFile, nil)
	n.zero(0)
	n.mend(Repair{})
	for addr, id := range n.held() {
		if want[addr] != id {
			t.Errorf("%s is held by %s", addr, id)
		}
		delete(want, addr)
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

// A journal that is cut tells who held an address before, and a page that nothing
// leads to who lives with it.
func TestALivingHolderInAScrapCountsBesideAnOlderOneInTheJournal(t *testing.T) {
	n := sixHeld(t)
	n.hold("10.0.0.3", "new/eth0+")
	n.cutJournal(1)
	n.zero(0)
	n.zero(1)
	n.mend(Repair{})
	if got := n.holders("10.0.0.3"); !slices.Equal(got, []string{"new/eth0+"}) {
		t.Errorf("holders %q", got)
	}
}
