package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/record"
)

// mend repairs n.
func (n *node) mend(r Repair) Report {
	n.t.Helper()
	r.Deadline = time.Now().Add(5 * time.Second)
	if r.Alive == nil {
		r.Alive = alive
	}
	report, err := n.Repair(r)
	if err != nil {
		n.t.Fatalf("repair: %v", err)
	}
	return report
}

// knowing is a Repair.Witnesses.
func knowing(all ...Witness) func(map[string][]byte) ([]Witness, error) {
	return func(map[string][]byte) ([]Witness, error) { return all, nil }
}

// lines of a report, one for each allocation.
func (r Report) lines() []string {
	var all []string
	for _, v := range r.Allocations {
		all = append(all, v.line())
	}
	return all
}

// sixHeld is a node with six allocations, in as many transactions.
func sixHeld(t *testing.T) *node {
	n := newNode(t)
	for i := range 6 {
		n.add(fmt.Sprintf("10.0.0.%d", 2+i), fmt.Sprintf("c%d", i))
	}
	return n
}

// six are those of sixHeld, or the first of them.
func six(count int) map[string]string {
	held := map[string]string{}
	for i := range count {
		held[fmt.Sprintf("10.0.0.%d", 2+i)] = fmt.Sprintf("c%d", i)
	}
	return held
}

// cutJournal drops the last lines.
func (n *node) cutJournal(drop int) {
	n.t.Helper()
	lines := bytes.SplitAfter(n.read(JournalFile), []byte("\n"))
	n.write(JournalFile, bytes.Join(lines[:len(lines)-1-drop], nil))
}

func TestEachSourceAloneIsTakenOver(t *testing.T) {
	text := bytes.Repeat([]byte("{}\n"), 10000)
	inDirectory := Witness{Network: "podnet", Name: "directory", Allocations: []record.Allocation{
		{Addr: ip("10.0.0.2"), Holders: holdersOf([]string{"c0/eth0"})},
	}}
	complete := inDirectory
	complete.Complete = true
	for name, c := range map[string]struct {
		damage   func(*node)
		repair   func(*node) Repair
		held     map[string]string
		source   string
		lost     []string
		others   bool
		complete string
	}{
		"a journal without its last two lines": {
			damage: func(n *node) { n.write(CheckpointFile, text); n.cutJournal(2) },
			held:   six(4), source: "the journal", lost: []string{"podnet"}, others: true,
		},
		"a whole journal": {
			damage: func(n *node) { n.write(CheckpointFile, text) },
			held:   six(6), source: "the journal", complete: "the journal",
		},
		"a file without a meta page": {
			damage: func(n *node) { n.write(JournalFile, nil); n.zero(0) },
			held:   six(6), source: "the damaged file", lost: []string{"podnet"}, others: true,
		},
		"a file without both": {
			damage: func(n *node) { n.write(JournalFile, nil); n.zero(0); n.zero(1) },
			held:   six(6), source: "the damaged file", lost: []string{"podnet"}, others: true,
		},
		"a backup": {
			damage: func(n *node) { n.write(JournalFile, nil); n.write(CheckpointFile, text) },
			repair: func(n *node) Repair { return Repair{Backup: n.file("backup")} },
			held:   six(3), source: "the backup", lost: []string{"podnet"}, others: true,
		},
		"an older form that is not complete": {
			damage: func(n *node) { n.write(JournalFile, nil); n.write(CheckpointFile, text) },
			repair: func(*node) Repair { return Repair{Witnesses: knowing(inDirectory)} },
			held:   six(1), source: "directory", lost: []string{"podnet"}, others: true,
		},
		"an older form that is": {
			damage: func(n *node) { n.write(JournalFile, nil); n.write(CheckpointFile, text) },
			repair: func(*node) Repair { return Repair{Witnesses: knowing(complete)} },
			held:   six(1), source: "directory", others: true,
		},
		"nothing at all": {
			damage: func(n *node) { n.write(JournalFile, nil); n.write(CheckpointFile, text) },
			held:   map[string]string{}, others: true,
		},
		"nothing, in a new boot": {
			damage:   func(n *node) { n.write(JournalFile, nil); n.write(CheckpointFile, text); n.boot = "boot-002" },
			held:     map[string]string{},
			complete: "none is needed: nothing was written in this boot",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := sixHeld(t)
			n.backUpAt(3)
			c.damage(n)
			var r Repair
			if c.repair != nil {
				r = c.repair(n)
			}
			report := n.mend(r)
			if !errors.Is(report.Problem, ErrDamaged) || !slices.Equal(report.Lost, c.lost) || report.Others != c.others || report.Complete != c.complete {
				t.Errorf("report: problem %v, lost %q, others %v, complete %q", report.Problem, report.Lost, report.Others, report.Complete)
			}
			for _, v := range report.Allocations {
				if !strings.Contains(v.line(), c.source) { // or a page of it
					t.Errorf("%s, not by %s", v.line(), c.source)
				}
			}
			if diff := cmp.Diff(c.held, n.held()); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			n.refusesLost("podnet", len(c.lost) > 0 || c.others && len(c.held) == 0)
			n.refusesLost("elsewhere", c.others)
		})
	}
}

// backUpAt leaves a backup of the first count allocations of sixHeld.
func (n *node) backUpAt(count int) {
	n.t.Helper()
	other := newNode(n.t)
	for i := range count {
		other.add(fmt.Sprintf("10.0.0.%d", 2+i), fmt.Sprintf("c%d", i))
	}
	n.write("backup", other.backup())
}

func (n *node) backup() []byte {
	n.t.Helper()
	var b bytes.Buffer
	if err := n.Backup(&b); err != nil {
		n.t.Fatal(err)
	}
	return b.Bytes()
}

// refusesLost asks whether an ADD in the network has to be refused.
func (n *node) refusesLost(network string, want bool) {
	n.t.Helper()
	err := n.Read(func(tx *Tx) error { return tx.Network(network).Whole() })
	if err != nil && (!errors.Is(err, ErrLost) || !strings.Contains(err.Error(), network)) || (err != nil) != want {
		n.t.Errorf("%s: %v; refused should be %v", network, err, want)
	}
}

func TestSourcesAreBroughtTogether(t *testing.T) {
	n := sixHeld(t)
	n.write("backup", n.backup())
	n.add("10.0.0.9", "of-the-file")
	n.cutJournal(0)
	n.del("10.0.0.3") // of which the cut journal will not know
	n.add("10.0.0.3", "newer")
	n.cutJournal(2)
	n.zero(0)
	report := n.mend(Repair{Backup: n.file("backup"), Witnesses: knowing(
		Witness{Network: "podnet", Name: "directory", Allocations: []record.Allocation{{Addr: ip("10.0.0.4"), Holders: holdersOf([]string{"c2/"})}}},
		Witness{Network: "podnet", Name: "cache", Allocations: []record.Allocation{{Addr: ip("10.0.0.3"), Holders: holdersOf([]string{"newer/eth0+"})}}},
	)})
	want := []string{
		"podnet 10.0.0.2 c0/eth0 by the journal, the damaged file, the backup",
		"podnet 10.0.0.3 newer/eth0 c1/eth0 by the journal, the damaged file, the backup, cache, contested",
		"podnet 10.0.0.4 c2/eth0 by the journal, the damaged file, the backup, directory",
		"podnet 10.0.0.5 c3/eth0 by the journal, the damaged file, the backup",
		"podnet 10.0.0.6 c4/eth0 by the journal, the damaged file, the backup",
		"podnet 10.0.0.7 c5/eth0 by the journal, the damaged file, the backup",
		"podnet 10.0.0.9 of-the-file/eth0 by the journal, the damaged file",
	}
	got := report.lines()
	for i, line := range got { // which of two is first does not matter
		got[i] = strings.Replace(line, "c1/eth0 newer/eth0", "newer/eth0 c1/eth0", 1)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := n.held(); len(got) != len(want) {
		t.Errorf("held %v", got)
	}
}

// A cache outlives what it tells of, and knows other networks' addresses.
func TestWhatARangedWitnessSaysCountsWithinTheRanges(t *testing.T) {
	set := record.RangeSet{{Start: ip("10.0.0.2"), End: ip("10.0.0.9")}}
	cache := Witness{Network: "podnet", Name: "cache", Ranged: true, Allocations: []record.Allocation{
		{Addr: ip("10.0.0.8"), Holders: holdersOf([]string{"x/eth0"})},
		{Addr: ip("10.9.0.8"), Holders: holdersOf([]string{"y/eth0"})},
	}}
	for name, c := range map[string]struct {
		ranges []record.RangeSet
		want   int
	}{
		"known ranges": {[]record.RangeSet{set}, 1},
		"none known":   {nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			if err := n.update(opAdd, func(net *Network) error {
				if c.ranges == nil {
					return net.SetCursor(set, set[0].Start)
				}
				return net.SetRanges(c.ranges)
			}); err != nil {
				t.Fatal(err)
			}
			n.write(JournalFile, nil)
			n.zero(0)
			if report := n.mend(Repair{Witnesses: knowing(cache)}); len(report.Allocations) != c.want {
				t.Errorf("taken over: %q", report.lines())
			}
		})
	}
}

func TestAFileThatAnotherProgramWroteIsRepaired(t *testing.T) {
	for name, c := range map[string]struct {
		write    func(*bolt.Tx) error
		complete bool
		held     int
	}{
		"and changed nothing of ours": {func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err }, true, 6},
		"and took one away": {func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(bucketNetworks)).Bucket([]byte("podnet")).Bucket([]byte(bucketAllocations))
			return b.Delete(addrKey(ip("10.0.0.2")))
		}, false, 6},
	} {
		t.Run(name, func(t *testing.T) {
			n := sixHeld(t)
			n.byAnother(c.write)
			report := n.mend(Repair{})
			if !errors.Is(report.Problem, ErrDamaged) || (report.Complete != "") != c.complete || (len(report.Lost) == 0) != c.complete {
				t.Errorf("problem %v, complete %q, lost %q", report.Problem, report.Complete, report.Lost)
			}
			if got := n.held(); len(got) != c.held {
				t.Errorf("held %v", got)
			}
			if c.complete {
				n.add("10.0.0.100", "new")
			}
		})
	}
}

// A journal that was begun anew from a checkpoint with damage that nobody has
// noticed has every line, and is not complete.
func TestAJournalOfWhatCannotBeReadIsNotComplete(t *testing.T) {
	for name, c := range map[string]struct{ bucket, key string }{
		"a document": {"", keyMigration},
		"a record":   {bucketAllocations, string(addrKey(ip("10.0.0.3")))},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.add("10.0.0.2", "a")
			n.add("10.0.0.3", "b")
			err := n.Update(opAdd, func(tx *Tx) error {
				path := []string{bucketNetworks, "podnet"}
				if c.bucket != "" {
					path = append(path, c.bucket)
				}
				return tx.put(path, []byte(c.key), []byte("what a bad page has"))
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := n.heal(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), n.file(JournalFile)+" has what cannot be read") {
				t.Errorf("healing: %v", err)
			}
			report := n.mend(Repair{})
			if report.Complete != "" || !slices.Contains(report.Lost, "podnet") {
				t.Errorf("complete %q, lost %q", report.Complete, report.Lost)
			}
			if got := n.held(); got["10.0.0.2"] == "" {
				t.Errorf("held: %v", got)
			}
		})
	}
}

// A journal is not begun anew from a document that cannot be read, however many
// pages there are.
func TestABigFileWithADamagedDocumentBeginsNoJournal(t *testing.T) {
	n := newBigNode(t)
	err := n.Update(opAdd, func(tx *Tx) error { return tx.Network("other").SetMigration([]byte(`{"phase":"contract"}`)) })
	if err != nil {
		t.Fatal(err)
	}
	b := n.read(CheckpointFile)
	flipped := bytes.ReplaceAll(b, []byte(`"contract"`), []byte(`"contrast"`))
	if bytes.Equal(b, flipped) {
		t.Fatal("not found")
	}
	n.write(CheckpointFile, flipped)
	if err := os.Remove(n.file(JournalFile)); err != nil { // as one that has grown too long
		t.Fatal(err)
	}
	err = n.update(opAdd, func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.50.1", "z")) })
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("ADD in podnet: %v", err)
	}
	if _, err := os.Stat(n.file(JournalFile)); err == nil {
		t.Error("a journal was begun")
	}
}
