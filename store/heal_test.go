package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// heal is Heal of a node that knows nothing else.
func (n *node) heal() error { return n.Heal(Heal{Deadline: time.Now().Add(5 * time.Second)}) }

// damagedCopies lists the files kept.
func (n *node) damagedCopies() []string {
	n.t.Helper()
	names, err := filepath.Glob(n.file(CheckpointFile + ".damaged-*"))
	if err != nil {
		n.t.Fatal(err)
	}
	return names
}

// damages are ways to lose a checkpoint of a boot that has written to it.
var damages = map[string]func(*node){
	"empty":            func(n *node) { n.write(CheckpointFile, nil) },
	"gone":             func(n *node) { _ = os.Remove(n.Path()) },
	"text":             func(n *node) { n.write(CheckpointFile, bytes.Repeat([]byte("{}\n"), 10000)) },
	"cut in use":       func(n *node) { n.write(CheckpointFile, n.read(CheckpointFile)[:3*os.Getpagesize()]) },
	"a meta page zero": func(n *node) { n.zero(0) },
}

func TestACheckpointIsHealedFromTheJournal(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			for i := range 30 {
				n.add(fmt.Sprintf("10.0.0.%d", 10+i), fmt.Sprintf("c%d", i))
			}
			n.del("10.0.0.10")
			want := n.held()
			damage(n)
			before, readErr := n.bytes()
			if err := n.heal(); err != nil {
				t.Fatal(err)
			}
			if got := n.held(); !maps.Equal(got, want) {
				t.Errorf("held %v, want %v", got, want)
			}
			if kept := n.damagedCopies(); readErr == nil {
				if len(kept) != 1 {
					t.Fatalf("kept: %q", kept)
				}
				if b, _ := os.ReadFile(kept[0]); !bytes.Equal(b, before) {
					t.Error("the damaged bytes were not kept")
				}
			}
			n.add("10.0.0.200", "new") // and goes on
			n.held()
			if told := n.damages(); len(told) != 1 || told[0].From != SourceJournal || told[0].Problem == "" {
				t.Errorf("told: %+v", told)
			}
		})
	}
}

func TestHealingDoesNothingWhereNothingIsDamaged(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	before := n.read(CheckpointFile)
	if err := n.heal(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, n.read(CheckpointFile)) {
		t.Error("the checkpoint has changed")
	}
}

// A journal that does not have all that was answered is not believed.
func TestAnIncompleteJournalHealsNothing(t *testing.T) {
	cases := map[string]func(*node){
		"gone":       func(n *node) { _ = os.Remove(n.file(JournalFile)) },
		"empty":      func(n *node) { n.write(JournalFile, nil) },
		"first line": func(n *node) { n.flip(JournalFile, 5) },
		"in the middle": func(n *node) {
			b := n.read(JournalFile)
			n.flip(JournalFile, len(b)/2)
		},
		"a line less": func(n *node) {
			lines := bytes.SplitAfter(n.read(JournalFile), []byte("\n"))
			n.write(JournalFile, bytes.Join(slices.Delete(lines, len(lines)-3, len(lines)-2), nil))
		},
		"the last line is missing": func(n *node) {
			lines := bytes.SplitAfter(n.read(JournalFile), []byte("\n"))
			n.write(JournalFile, bytes.Join(lines[:len(lines)-2], nil))
		},
		"the last line is torn": func(n *node) {
			b := n.read(JournalFile)
			n.write(JournalFile, b[:len(b)-7])
		},
		"two lines have changed places": func(n *node) {
			lines := bytes.SplitAfter(n.read(JournalFile), []byte("\n"))
			last := len(lines) - 2
			lines[last], lines[last-1] = lines[last-1], lines[last]
			n.write(JournalFile, bytes.Join(lines, nil))
		},
	}
	for name, damage := range cases {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			for i := range 8 {
				n.add(fmt.Sprintf("10.0.0.%d", 10+i), "c")
			}
			damage(n)
			n.zero(0)
			before := n.read(CheckpointFile)
			err := n.heal()
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), n.Path()) {
				t.Errorf("error %v", err)
			}
			if !bytes.Equal(before, n.read(CheckpointFile)) || len(n.damagedCopies()) > 0 {
				t.Error("the files have changed")
			}
		})
	}
}

// A process that is killed between its commit and the end of its line has
// answered nobody.
func TestATornLineThatWasNeverAnsweredHarmsNothing(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	witness := n.read(LockFile)
	n.add("10.0.0.3", "b")
	b := n.read(JournalFile)
	n.write(JournalFile, b[:len(b)-7])
	n.write(LockFile, witness)
	n.zero(0)
	if err := n.heal(); err != nil {
		t.Fatal(err)
	}
	if got := n.held(); !maps.Equal(got, map[string]string{"10.0.0.2": "a"}) {
		t.Errorf("held %v", got)
	}
}

// Of a snapshot that is cut between two lines nothing can be told from its
// checksums.
func TestACutSnapshotIsNotBelieved(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	lines := bytes.SplitAfter(n.read(JournalFile), []byte("\n"))
	for i := 1; i < len(lines)-1; i++ {
		n.write(JournalFile, bytes.Join(lines[:i], nil))
		n.zero(0)
		if err := n.heal(); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d lines: %v", i, err)
		}
	}
}

func TestInANewBootADamagedCheckpointIsBegunAnew(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.write(JournalFile, nil)
	n.write(CheckpointFile, nil)
	n.boot = "boot-002"
	if err := n.heal(); err != nil {
		t.Fatal(err)
	}
	if got := n.held(); len(got) > 0 {
		t.Errorf("held %v", got)
	}
	n.add("10.0.0.2", "b")
	n.held()
}

// Another file may name this boot although lock and journal do not.
func TestAFileThatNamesThisBootKeepsADamagedCheckpoint(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.write(JournalFile, nil)
	n.write(CheckpointFile, nil)
	n.boot = "boot-002"
	err := n.Heal(Heal{Deadline: time.Now().Add(time.Second), Boots: []string{"boot-002"}})
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("error %v", err)
	}
}

// healedFromOldForm damages the checkpoint and its journal, and heals it from the
// older form of a network, which has this one allocation.
func (n *node) healedFromOldForm(network, addr, id string) {
	n.t.Helper()
	n.write(JournalFile, nil)
	n.zero(0)
	h := Heal{Deadline: time.Now().Add(5 * time.Second), Network: network, Complete: func([]byte) bool { return true }}
	if err := n.Heal(h); err != nil {
		n.t.Fatal(err)
	}
	err := n.Update(opAdd, func(tx *Tx) error {
		net := tx.Network(network)
		net.Found()
		return net.Put(allocation(net.Epoch(), addr, id))
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

func TestANetworkWithAnotherCompleteFormIsHealedAlone(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.healedFromOldForm("podnet", "10.0.0.3", "b")
	lost := func() (podnet, other bool) {
		err := n.Read(func(tx *Tx) error {
			podnet = errors.Is(tx.Network("podnet").Whole(), ErrLost)
			other = errors.Is(tx.Network("other").Whole(), ErrLost)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return podnet, other
	}
	if podnet, other := lost(); podnet || !other {
		t.Errorf("lost: podnet %v, other %v; want other alone", podnet, other)
	}
	n.boot = "boot-002"
	n.add("10.0.0.3", "b")
	if _, other := lost(); other {
		t.Error("it is lost in the next boot, too")
	}
}

// Whatever point the process that heals is killed at, the next one goes on.
func TestHealingThatIsCutIsDoneAgain(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.add("10.0.0.3", "b")
	want := n.held()
	n.zero(0)
	left := map[string]string{}
	points(t, func(name string) { left[name] = copyDir(t, n.dir) }, func() {
		if err := n.heal(); err != nil {
			t.Fatal(err)
		}
	})
	for _, point := range []string{"store.kept", "store.replaced", "store.journal-replaced"} {
		t.Run(point, func(t *testing.T) {
			if left[point] == "" {
				t.Fatal("it was not passed")
			}
			after := newNodeIn(t, left[point])
			if err := after.heal(); err != nil {
				t.Fatal(err)
			}
			if got := after.held(); !maps.Equal(got, want) {
				t.Errorf("held %v, want %v", got, want)
			}
			after.add("10.0.0.4", "c")
			after.held()
			after.journalIsComplete()
		})
	}
}

// copyDir copies the files of a killed process.
func copyDir(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// flip changes a byte of a file.
func (n *node) flip(name string, at int) {
	n.t.Helper()
	b := n.read(name)
	b[at] ^= 0x10
	n.write(name, b)
}

// An older copy of journal and lock together fits in itself. The file tells that
// more was written in this boot: one transaction may be that of a call which was
// killed, and told nobody.
func TestAnOlderJournalWithItsLockIsNotBelieved(t *testing.T) {
	for name, c := range map[string]struct {
		later int
		boot  string
		heals bool
	}{
		"one transaction later":          {1, "", true},
		"two transactions later":         {2, "", false},
		"two later, and in another boot": {2, "boot-002", true}, // as a power cut may leave it
	} {
		t.Run(name, func(t *testing.T) {
			n := sixHeld(t)
			journal, lock := n.read(JournalFile), n.read(LockFile)
			for i := range c.later {
				n.add(fmt.Sprintf("10.0.0.%d", 20+i), "later")
			}
			n.write(JournalFile, journal)
			n.write(LockFile, lock)
			file := n.read(CheckpointFile)
			clear(file[3*4096:]) // both meta pages are whole
			n.write(CheckpointFile, file)
			if c.boot != "" {
				n.boot = c.boot
			}
			if err := n.heal(); (err == nil) != c.heals {
				t.Errorf("healing: %v", err)
			}
		})
	}
}

// A journal and a lock of another node fit each other, too, and the checkpoint
// is the one that does not. That it knows this boot tells whose they are.
func TestAnotherNodesJournalWithItsLockIsNotBelieved(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(*node)
		lost   []string
	}{
		"beside a whole checkpoint": {func(*node) {}, []string{"podnet"}},
		"beside one meta page":      {func(n *node) { n.zero(0) }, []string{"podnet"}},
		"beside a page of records":  {func(n *node) { n.zero(n.recordPage()) }, []string{"podnet"}},
	} {
		t.Run(name, func(t *testing.T) {
			n, held := sixtyHeld(t)
			n.add("10.0.0.2", "last")
			held["10.0.0.2"] = "last"
			other := newNode(t)
			other.boot = "boot-999"
			for i := range 20 {
				other.add(fmt.Sprintf("10.0.0.%d", 2+i), "another")
			}
			n.write(JournalFile, other.read(JournalFile))
			n.write(LockFile, other.read(LockFile))
			c.damage(n)
			left := n.read(CheckpointFile)
			if err := n.heal(); !errors.Is(err, ErrDamaged) {
				t.Errorf("healing: %v", err)
			}
			if !bytes.Equal(left, n.read(CheckpointFile)) {
				t.Error("the checkpoint has changed")
			}
			report := n.mend(Repair{})
			if !slices.Equal(report.Lost, c.lost) || report.Complete != "" {
				t.Errorf("lost %q, complete %q", report.Lost, report.Complete)
			}
			got := n.held()
			for addr, id := range got {
				if held[addr] != id {
					t.Errorf("%s is held by %s, not by %q", addr, id, held[addr])
				}
			}
			if len(got) == 0 {
				t.Error("nothing is held")
			}
		})
	}
}

// damages are those that are noted.
func (n *node) damages() (all []Damage) {
	n.t.Helper()
	if err := n.Read(func(tx *Tx) error { all = tx.Damages(); return nil }); err != nil {
		n.t.Fatal(err)
	}
	return all
}

// A full disk must not fill with names of the same journal.
func TestHealingThatFailsKeepsNoJournal(t *testing.T) {
	n := sixHeld(t)
	lines := n.read(JournalFile)
	n.write(JournalFile, lines[:len(lines)/2])
	n.zero(0)
	if err := os.Mkdir(n.file(newCheckpointFile), 0o700); err != nil {
		t.Fatal(err)
	}
	n.write(newCheckpointFile+"/in-the-way", nil)
	for range 2 {
		if err := n.Heal(Heal{Deadline: time.Now().Add(time.Second), Network: "podnet", Complete: func([]byte) bool { return true }}); err == nil {
			t.Fatal("it was healed")
		}
	}
	if kept, _ := filepath.Glob(n.file("*.damaged-*")); len(kept) > 0 {
		t.Errorf("kept: %q", kept)
	}
}

// What cannot be replaced leaves nothing behind.
func TestAHealThatCannotMakeADirectoryLeavesNoFile(t *testing.T) {
	n := newNodeWith(t, 2)
	if err := os.Remove(n.file(DeferredDir)); err != nil {
		t.Fatal(err)
	}
	n.write(DeferredDir, nil) // a file in its place
	n.write(CheckpointFile, nil)
	if err := n.heal(); err == nil {
		t.Fatal("it is healed")
	}
	if exists(n.file(newCheckpointFile)) {
		t.Errorf("%s is left", newCheckpointFile)
	}
}
