package store

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/store/record"
)

// restored restores a file of the data directory.
func (n *node) restored(r Repair) (Report, error) {
	n.t.Helper()
	r.Deadline, r.Alive = time.Now().Add(5*time.Second), alive
	if r.Backup == "" {
		r.Backup = n.file("backup")
	}
	return n.Restore(r)
}

// hold gives addr to holders, which are written as for claimOf; to none it is
// freed.
func (n *node) hold(addr string, holders ...string) {
	n.t.Helper()
	err := n.update(opAdd, func(net *Network) error {
		if len(holders) == 0 {
			return net.Delete(ip(addr))
		}
		return net.Put(record.Allocation{Addr: ip(addr), Epoch: net.Epoch(), Holders: holdersOf(holders)})
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

// holders are those of an address, as for claimOf.
func (n *node) holders(addr string) []string {
	n.t.Helper()
	var texts []string
	err := n.Read(func(tx *Tx) error {
		if err := tx.Verify(); err != nil {
			return err
		}
		a, _, err := tx.Network("podnet").Get(ip(addr))
		for _, h := range a.Holders {
			text := h.ContainerID + "/" + h.IfName
			if alive(h.NetNS) {
				text += "+"
			}
			texts = append(texts, text)
		}
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return texts
}

func TestWhatABackupSaysOfAnAddressIsHeldAgainstWhatIsKnown(t *testing.T) {
	const addr = "10.0.0.2"
	for name, c := range map[string]struct {
		then, now, want []string
		note            string // of the report
	}{
		"the same holder": {[]string{"a/eth0"}, []string{"a/eth0"}, []string{"a/eth0"}, ""},
		"one that was freed and has gone": {
			[]string{"a/eth0"}, nil, nil, "freed since the backup, and stays so"},
		"one that was freed and lives": {
			[]string{"a/eth0+"}, nil, []string{"a/eth0+"}, "it holds the address again"},
		"one that has gone, and another holds it": {
			[]string{"a/eth0"}, []string{"b/eth0"}, []string{"b/eth0"}, "container b holds it now and keeps it"},
		"one that lives, and another holds it": {
			[]string{"a/eth0+"}, []string{"b/eth0"}, []string{"b/eth0", "a/eth0+"}, "delete the pod of one"},
		"one that lives, and another that lives holds it": {
			[]string{"a/eth0+"}, []string{"b/eth0+"}, []string{"b/eth0+", "a/eth0+"}, "delete the pod of one"},
		"two of which one is left": {
			[]string{"a/eth0", "b/eth0"}, []string{"a/eth0"}, []string{"a/eth0"}, "container a holds it now and keeps it"},
		"two that were freed, of which one lives": {
			[]string{"a/eth0", "b/eth0+"}, nil, []string{"b/eth0+"}, "it holds the address again"},
		"none, and one holds it now": {nil, []string{"b/eth0"}, []string{"b/eth0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.add("10.0.0.9", "z")
			n.hold(addr, c.then...)
			n.write("backup", n.backup())
			n.hold(addr, c.now...)
			report, err := n.restored(Repair{})
			if err != nil {
				t.Fatal(err)
			}
			if got := n.holders(addr); !slices.Equal(got, c.want) {
				t.Errorf("held by %q, want %q", got, c.want)
			}
			if notes := strings.Join(report.Notes, "\n"); !strings.Contains(notes, c.note) || (c.note == "") != (notes == "") {
				t.Errorf("notes %q, want %q", report.Notes, c.note)
			}
			if changed := !slices.Equal(c.now, c.want); (report.Kept != "") != changed {
				t.Errorf("kept %q", report.Kept)
			}
			if len(report.Lost) > 0 || report.Others || report.Problem != nil {
				t.Errorf("report %+v", report)
			}
			n.add("10.0.0.100", "new")
			n.journalIsComplete()
		})
	}
}

func TestABackupInTheNextBoot(t *testing.T) {
	for name, c := range map[string]struct {
		then, now []string
		want      []string // who counts afterwards
	}{
		"who held it has gone":                      {[]string{"a/eth0"}, nil, nil},
		"who held it lives all the same":            {[]string{"a/eth0+"}, nil, []string{"a/eth0+"}},
		"another has it since":                      {[]string{"a/eth0"}, []string{"b/eth0"}, []string{"b/eth0"}},
		"another has it since, and the first lives": {[]string{"a/eth0+"}, []string{"b/eth0"}, []string{"b/eth0", "a/eth0+"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.hold("10.0.0.2", c.then...)
			n.write("backup", n.backup())
			n.boot = "boot-002"
			n.hold("10.0.0.2", c.now...)
			if _, err := n.restored(Repair{}); err != nil {
				t.Fatal(err)
			}
			if got := n.holders("10.0.0.2"); !slices.Equal(got, c.want) {
				t.Errorf("held by %q, want %q", got, c.want)
			}
		})
	}
}

func TestABackupBringsWhatIsNotThere(t *testing.T) {
	n := newNode(t)
	set := record.RangeSet{{Start: ip("10.1.0.2"), End: ip("10.1.0.9")}}
	err := n.Update(opAdd, func(tx *Tx) error {
		return errors.Join(tx.Network("other").SetMigration([]byte(`{"phase":"switch"}`)), tx.Network("other").SetRanges([]record.RangeSet{set}), tx.Network("other").SetCursor(set, ip("10.1.0.5")))
	})
	if err != nil {
		t.Fatal(err)
	}
	later := newNode(t)
	later.add("10.0.0.2", "a")
	later.write("backup", n.backup())
	if _, err := later.restored(Repair{}); err != nil {
		t.Fatal(err)
	}
	if got := later.held(); len(got) != 1 {
		t.Errorf("held %v", got)
	}
	err = later.Read(func(tx *Tx) error {
		other := tx.Network("other")
		doc, err := other.Migration()
		ranges, rangesErr := other.Ranges()
		if string(doc) != `{"phase":"switch"}` || len(ranges) != 1 || other.Cursor(set) != ip("10.1.0.5") {
			t.Errorf("migration %s, ranges %v, cursor %v", doc, ranges, other.Cursor(set))
		}
		return errors.Join(err, rangesErr)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestABackupWithoutACheckpoint(t *testing.T) {
	for name, c := range map[string]struct {
		boot   string
		accept bool
		boots  []string // of tombstones
		lost   bool
	}{
		"of this boot":           {boot: "boot-001", lost: true},
		"of this boot, accepted": {boot: "boot-001", accept: true},
		"of an earlier boot":     {boot: "boot-002"},
		"of an earlier boot, and this one has written, too": {boot: "boot-002", boots: []string{"boot-002"}, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			old := sixHeld(t)
			n := newNode(t)
			n.boot = c.boot
			if err := os.Mkdir(n.dir, 0o700); err != nil {
				t.Fatal(err)
			}
			n.write("backup", old.backup())
			report, err := n.restored(Repair{Accept: c.accept, Boots: c.boots})
			if err != nil {
				t.Fatal(err)
			}
			if got := len(report.Lost) > 0; got != c.lost || report.Others != c.lost || report.Kept != "" {
				t.Errorf("report %+v", report)
			}
			n.refusesLost("podnet", c.lost)
			n.refusesLost("elsewhere", c.lost)
			if got := n.held(); !maps.Equal(got, six(6)) {
				t.Errorf("held %v", got)
			}
		})
	}
}

func TestABackupOverADamagedCheckpoint(t *testing.T) {
	for name, c := range map[string]struct {
		journal func(*node)
		held    int
		lost    bool
	}{
		"whose journal is whole": {func(*node) {}, 6, false},
		"whose journal is cut":   {func(n *node) { n.cutJournal(2) }, 5, true}, // the fifth is the backup's alone
		"without a journal":      {func(n *node) { n.write(JournalFile, nil) }, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			for i := range 5 {
				n.add(fmt.Sprintf("10.0.0.%d", 2+i), fmt.Sprintf("c%d", i))
			}
			n.write("backup", n.backup())
			n.add("10.0.0.7", "c5")
			c.journal(n)
			n.write(CheckpointFile, nil)
			report, err := n.restored(Repair{})
			if err != nil {
				t.Fatal(err)
			}
			if got := n.held(); !maps.Equal(got, six(c.held)) {
				t.Errorf("held %v", got)
			}
			if (len(report.Lost) > 0) != c.lost || !strings.HasPrefix(report.Kept, CheckpointFile+damagedSuffix) || !errors.Is(report.Problem, ErrDamaged) {
				t.Errorf("report %+v", report)
			}
			if all := n.damages(); len(all) != 1 || all[0].Problem != report.Problem.Error() {
				t.Errorf("noted: %+v", all)
			}
			n.refusesLost("podnet", c.lost)
		})
	}
}

func TestARestoreThatIsTriedChangesNothing(t *testing.T) {
	n := sixHeld(t)
	n.write("backup", n.backup())
	n.hold("10.0.0.2", "other/eth0")
	n.hold("10.0.0.3")
	before := n.files()
	report, err := n.restored(Repair{DryRun: true})
	if err != nil || len(report.Notes) != 2 {
		t.Errorf("notes %q, %v", report.Notes, err)
	}
	if diff := cmp.Diff(before, n.files()); diff != "" {
		t.Errorf("files:\n%s", diff)
	}
}

// losing makes a node of which a repair has found all but the last of seven.
func losing(t *testing.T) *node {
	n := sixHeld(t)
	n.add("10.0.0.8", "c6")
	n.cutJournal(1)
	n.write(CheckpointFile, nil)
	n.mend(Repair{})
	n.refusesLost("podnet", true)
	return n
}

func TestABackupOfANodeThatHadLostSomething(t *testing.T) {
	for name, c := range map[string]struct {
		with         func(*node) // the node that restores it
		accept       bool
		boot         string
		lost, others bool
	}{
		"without a checkpoint":                {with: func(*node) {}, lost: true, others: true},
		"without a checkpoint, accepted":      {with: func(*node) {}, accept: true},
		"without a checkpoint, the next boot": {with: func(*node) {}, boot: "boot-002"},
		"over one that knows the network":     {with: func(n *node) { n.add("10.0.0.2", "c0") }},
		"over one that does not": {lost: true, with: func(n *node) {
			if err := n.Update(opAdd, func(tx *Tx) error { return tx.Network("other").SetMigration([]byte(`{}`)) }); err != nil {
				n.t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			backup := losing(t).backup()
			n := newNode(t)
			if err := os.Mkdir(n.dir, 0o700); err != nil {
				t.Fatal(err)
			}
			c.with(n)
			n.write("backup", backup)
			if c.boot != "" {
				n.boot = c.boot
			}
			report, err := n.restored(Repair{Accept: c.accept})
			if err != nil || slices.Contains(report.Lost, "podnet") != c.lost || report.Others != c.others {
				t.Errorf("report %+v, %v", report, err)
			}
			n.refusesLost("podnet", c.lost)
			n.refusesLost("elsewhere", c.others)
		})
	}
}

func TestABackupDoesNotSetAContainerAgainstItself(t *testing.T) {
	for name, c := range map[string]struct{ then, now string }{
		"whose ifname became known": {"a/+", "a/eth0+"},
		"whose ifname was known":    {"a/eth0+", "a/+"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.hold("10.0.0.2", c.then)
			n.write("backup", n.backup())
			n.hold("10.0.0.2", c.now)
			report, err := n.restored(Repair{})
			if err != nil || len(report.Notes) > 0 {
				t.Errorf("notes %q, %v", report.Notes, err)
			}
			if got := n.holders("10.0.0.2"); !slices.Equal(got, []string{c.now}) {
				t.Errorf("holders %q", got)
			}
		})
	}
}

// A network that was lost comes back from a backup as it was then, and something
// of it is missing still.
func TestABackupBringsBackALostNetworkAsLost(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.write("backup", n.backup())
	n.add("10.0.0.3", "b") // answered after the backup
	n.healedFromOldForm("other", "10.1.0.2", "x")
	n.refusesLost("podnet", true)
	if _, err := n.restored(Repair{}); err != nil {
		t.Fatal(err)
	}
	n.refusesLost("podnet", true)
}
