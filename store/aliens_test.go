package store

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"
)

// What another node's file says of a network's move is not this node's, and must
// not keep it from its older form.
func TestHealingAsksNoFileOfAnotherNode(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(n, other *node)
		want   string // the document by which the older form is judged
	}{
		"its journal, beside a file that is gone": {func(n, other *node) {
			n.write(JournalFile, other.read(JournalFile))
			if err := os.Remove(n.file(CheckpointFile)); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"its journal, beside one that is damaged": {func(n, other *node) {
			n.write(JournalFile, other.read(JournalFile))
			n.zero(0)
		}, "ours"},
		"its checkpoint, without a journal": {func(n, other *node) {
			n.write(CheckpointFile, other.read(CheckpointFile))
			n.write(JournalFile, nil)
		}, ""},
		"its checkpoint, damaged, beside half a journal": {func(n, other *node) {
			other.zero(0)
			n.write(CheckpointFile, other.read(CheckpointFile))
			lines := n.read(JournalFile)
			n.write(JournalFile, lines[:len(lines)-20])
		}, "ours"},
	} {
		t.Run(name, func(t *testing.T) {
			n, other := newNode(t), newNode(t)
			other.boot = "boot-999"
			for node, doc := range map[*node]string{n: "ours", other: "another's"} {
				node.add("10.0.0.2", doc)
				err := node.Update(opAdd, func(tx *Tx) error { return tx.Network("podnet").SetMigration([]byte(doc)) })
				if err != nil {
					t.Fatal(err)
				}
				node.add("10.0.0.3", doc)
			}
			c.damage(n, other)
			asked := "nobody"
			h := Heal{Deadline: time.Now().Add(5 * time.Second), Network: "podnet", Complete: func(doc []byte) bool {
				asked = string(doc)
				return true
			}}
			if err := n.Heal(h); err != nil {
				t.Fatal(err)
			}
			if asked != c.want {
				t.Errorf("the older form was judged by the document %q, want %q", asked, c.want)
			}
			if all := n.damages(); len(all) != 1 || all[0].From != SourceOldForm {
				t.Errorf("noted: %+v", all)
			}
		})
	}
}

// Then the id that lock names tells nothing of whose the journal is, and the new
// checkpoint is put in the place of that one.
func TestBesideAnotherNodesLockNobodyIsLeftOut(t *testing.T) {
	n, held := sixtyHeld(t)
	n.setMigration("ours")
	other := newNode(t)
	other.boot = "boot-999"
	other.add("10.0.9.9", "another")
	other.setMigration("another's")
	n.write(JournalFile, other.read(JournalFile))
	n.write(LockFile, other.read(LockFile))
	n.zero(n.recordPage())
	asked := ""
	h := Heal{Deadline: time.Now().Add(5 * time.Second), Network: "podnet", Complete: func(doc []byte) bool {
		asked = string(doc)
		return false
	}}
	if err := n.Heal(h); !errors.Is(err, ErrDamaged) || asked != "another's" {
		t.Errorf("healing: %v; the older form was judged by the document %q", err, asked)
	}
	report := n.mend(Repair{})
	if !slices.Equal(report.Lost, []string{"podnet"}) || !slices.Contains(report.Notes, "the journal is another node's: nothing was taken from it") {
		t.Errorf("lost %q, notes %q", report.Lost, report.Notes)
	}
	if doc, err := n.migration(); err != nil || string(doc) != "ours" {
		t.Errorf("the document is %q, %v", doc, err)
	}
	for addr, id := range n.held() {
		if held[addr] != id {
			t.Errorf("%s is held by %s, not by %q", addr, id, held[addr])
		}
	}
}

// Then nobody can tell whose a file is, and all are this node's.
func TestInABootWithoutAnIDNoFileIsAnotherNodes(t *testing.T) {
	for name, lock := range map[string]bool{"with its lock": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			n, held := sixtyHeld(t)
			n.setMigration("ours")
			n.boot = ""
			n.write(JournalFile, nil)
			if !lock {
				n.write(LockFile, nil)
			}
			n.zero(n.recordPage())
			whole := n.read(CheckpointFile)
			asked := ""
			complete := false
			h := Heal{Deadline: time.Now().Add(5 * time.Second), Network: "podnet", Complete: func(doc []byte) bool {
				asked = string(doc)
				return complete
			}}
			if err := n.Heal(h); !errors.Is(err, ErrDamaged) || asked != "ours" {
				t.Errorf("healing: %v; the older form was judged by the document %q", err, asked)
			}
			complete, h.Network = true, "elsewhere"
			for range 2 { // the second time what the first has kept was put back
				if err := n.Heal(h); err != nil {
					t.Fatal(err)
				}
				n.boot = "boot-001" // it is the same
				n.refusesLost("podnet", true)
				n.boot = ""
				n.write(CheckpointFile, whole)
				n.write(JournalFile, nil)
			}
			report := n.mend(Repair{})
			if len(report.Allocations) < len(held)/2 || !slices.Equal(report.Lost, []string{"podnet"}) {
				t.Errorf("%d found, lost %q, notes %q", len(report.Allocations), report.Lost, report.Notes)
			}
		})
	}
}

func TestWhatIsBegunAnewBesideAnotherNodesLockTellsOfFormerDamage(t *testing.T) {
	n, other := sixHeld(t), newNode(t)
	n.zero(0)
	if err := n.heal(); err != nil {
		t.Fatal(err)
	}
	n.add("10.0.0.30", "x")
	other.boot = "boot-999"
	other.add("10.0.9.9", "another")
	n.write(LockFile, other.read(LockFile))
	n.boot = "boot-002"
	n.zero(0)
	if err := n.heal(); err != nil {
		t.Fatal(err)
	}
	if all := n.damages(); len(all) != 2 || all[0].From != SourceJournal || all[1].From != SourceNewBoot {
		t.Errorf("noted: %+v", all)
	}
}
