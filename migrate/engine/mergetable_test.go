package engine_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

const (
	tookOver = "took over 1 allocation"
	freed    = "freed 1 allocation"
	restored = "wrote 1 allocation"
	twice    = "held by two attachments"
)

// mergeRow is one meeting of a record with an entry. A name with a star has
// kept what the record knew of its pod, one in parentheses is of an earlier
// boot.
type mergeRow struct {
	record, entry string
	replaced      bool   // the old form is another than the one of our last write
	want          string // is recorded
	old           string // is in the old form
	told          []string
}

// What is recorded: nothing, container a of this boot or an earlier one, with
// its entry's mark or none, or a with a mark beside c without one.
const (
	none          = "nothing"
	current       = "of this boot"
	currentNoMark = "of this boot, without a mark"
	stale         = "of an earlier boot"
	staleNoMark   = "of an earlier boot, without a mark"
	two           = "two holders"
)

// What the entry is: the one that is recorded, another of the same attachment,
// one of container b, or one of a without an ifname.
const (
	same     = "the same"
	another  = "another of the same"
	others   = "another's"
	nameless = "without an ifname"
)

var mergeTable = []mergeRow{
	{none, none, false, "", "", nil},
	{none, another, false, "a", "a", []string{tookOver}},
	{none, others, false, "b", "b", []string{tookOver}},
	{none, nameless, false, "a/", "a/", []string{tookOver}},
	{none, none, true, "", "", nil},
	{none, another, true, "a", "a", []string{tookOver}},
	{none, others, true, "b", "b", []string{tookOver}},
	{none, nameless, true, "a/", "a/", []string{tookOver}},

	{current, none, false, "", "", []string{freed}},
	{current, same, false, "a*", "a", nil},
	{current, another, false, "a", "a", []string{tookOver}},
	{current, others, false, "b", "b", []string{tookOver}},
	{current, nameless, false, "a/", "a/", []string{tookOver}},
	{current, none, true, "a*", "a", []string{restored}},
	{current, same, true, "a*", "a", nil},
	{current, another, true, "a", "a", []string{tookOver}},
	{current, others, true, "a*+b", "b", []string{tookOver, twice}},
	{current, nameless, true, "a/", "a/", []string{tookOver}},

	{currentNoMark, none, false, "a*", "a", []string{restored}},
	{currentNoMark, another, false, "a", "a", []string{tookOver}},
	{currentNoMark, others, false, "a*+b", "b", []string{tookOver, twice}},
	{currentNoMark, nameless, false, "a/", "a/", []string{tookOver}},
	{currentNoMark, none, true, "a*", "a", []string{restored}},
	{currentNoMark, another, true, "a", "a", []string{tookOver}},
	{currentNoMark, others, true, "a*+b", "b", []string{tookOver, twice}},
	{currentNoMark, nameless, true, "a/", "a/", []string{tookOver}},

	{stale, none, false, "(a*)", "", nil},
	{stale, same, false, "(a*)", "a", nil},
	{stale, another, false, "a", "a", []string{tookOver}},
	{stale, others, false, "b", "b", []string{tookOver}},
	{stale, nameless, false, "a/", "a/", []string{tookOver}},
	{stale, none, true, "(a*)", "", nil},
	{stale, same, true, "(a*)", "a", nil},
	{stale, another, true, "a", "a", []string{tookOver}},
	{stale, others, true, "b", "b", []string{tookOver}},
	{stale, nameless, true, "a/", "a/", []string{tookOver}},

	{staleNoMark, none, false, "(a*)", "", nil},
	{staleNoMark, another, false, "a", "a", []string{tookOver}},
	{staleNoMark, others, false, "b", "b", []string{tookOver}},
	{staleNoMark, nameless, false, "a/", "a/", []string{tookOver}},
	{staleNoMark, none, true, "(a*)", "", nil},
	{staleNoMark, another, true, "a", "a", []string{tookOver}},
	{staleNoMark, others, true, "b", "b", []string{tookOver}},
	{staleNoMark, nameless, true, "a/", "a/", []string{tookOver}},

	{two, none, false, "c*", "c", []string{restored}},
	{two, same, false, "a*+c*", "a", nil},
	{two, another, false, "a+c*", "a", []string{tookOver, twice}},
	{two, others, false, "b+c*", "b", []string{tookOver, twice}},
	{two, nameless, false, "a/+c*", "a/", []string{tookOver, twice}},
	{two, none, true, "a*+c*", "a", []string{restored}},
	{two, same, true, "a*+c*", "a", nil},
	{two, another, true, "a+c*", "a", []string{tookOver, twice}},
	{two, others, true, "a*+b+c*", "b", []string{tookOver, twice}},
	{two, nameless, true, "a/+c*", "a/", []string{tookOver, twice}},
}

func TestARecordMeetsAnEntry(t *testing.T) {
	t.Parallel()
	for _, m := range enginetest.Pairs {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			for i, row := range mergeTable {
				place := "the same form"
				if row.replaced {
					place = "a replaced form"
				}
				t.Run(row.record+", "+row.entry+", "+place, func(t *testing.T) {
					n := newNode(t, m)
					phase := []engine.Phase{engine.Expand, engine.Switch}[i%2]
					n.meet(row, phase)
					before := n.view()
					n.wantHeld("the view before the call", n.starred(before), rowHolders(row.want, "x*"))
					n.idle()
					n.wantTold(row.told...)
					n.wantToldOnly(row.told)
					n.wantHeld("the view after it", n.starred(n.view()), rowHolders(row.want, "x*"))
					n.wantHeld("the old form", entries(n.look()), rowHolders(row.old, "x"))
					told := n.told
					n.idle()
					if len(n.told) > 0 {
						t.Errorf("the call after it said %q, and the one before %q", n.told, told)
					}
				})
			}
		})
	}
}

func rowHolders(who, x string) map[string]string {
	m := map[string]string{"10.0.0.9": x}
	if who != "" {
		m["10.0.0.2"] = who
	}
	return m
}

// meet puts a row's record and entry in place. x, at another address, is in
// both forms and shall stay.
func (n *node) meet(row mergeRow, phase engine.Phase) {
	n.Helper()
	const addr, otherAddr = "10.0.0.2", "10.0.0.9"
	n.older("x", otherAddr)
	switch row.entry {
	case same, another:
		n.older("a", addr)
	case others:
		n.older("b", addr)
	case nameless:
		if err := n.pair.Old.Add(record.Attachment{ContainerID: "a"}, ip(addr)); err != nil {
			n.Fatalf("%v", err)
		}
	}
	c := n.look()
	mark := "another-mark"
	if e, ok := c.At(ip(addr)); ok && row.entry == same {
		mark = e.Holder.Mark
	}
	x, _ := c.At(ip(otherAddr))
	place := c.Place
	if row.replaced {
		place = "elsewhere"
	}
	n.write(func(form.New) error { return nil })
	n.reboot()
	n.write(func(tx form.New) error {
		epoch := tx.Epoch()
		doc := fmt.Sprintf(`{"phase":%q,"oldPath":%q,"place":%q,"stamp":"another","epoch":%d}`, phase, n.pair.Old.Path(), place, epoch)
		if err := tx.SetMigration([]byte(doc)); err != nil {
			return err
		}
		if err := tx.Put(record.Allocation{Addr: ip(otherAddr), Epoch: epoch, Holders: []record.Holder{podOf("x", x.Holder.Mark)}}); err != nil {
			return err
		}
		a := record.Allocation{Addr: ip(addr), Epoch: epoch}
		switch row.record {
		case none:
			return nil
		case stale, staleNoMark:
			a.Epoch--
		}
		switch row.record {
		case currentNoMark, staleNoMark:
			mark = ""
		}
		a.Holders = append(a.Holders, podOf("a", mark))
		if row.record == two {
			a.Holders = append(a.Holders, podOf("c", ""))
		}
		return tx.Put(a)
	})
}

func podOf(id, mark string) record.Holder {
	return record.Holder{Attachment: eth0(id), Origin: record.OriginAdd, Pod: record.Pod{Name: id}, Mark: mark}
}

// write changes the new form by hand.
func (n *node) write(fn func(form.New) error) {
	n.Helper()
	op := enginetest.Op{Verb: "test", Creates: true, Runtime: true, Precheck: func(form.New) error { return nil }}
	if err := n.pair.New.Update(op, fn); err != nil {
		n.Fatalf("%v", err)
	}
}

// starred is held with a star behind each holder whose pod is known.
func (n *node) starred(v seen) map[string]string {
	all := map[netip.Addr]record.Allocation{}
	for addr, a := range v.all {
		b := a.Without(func(record.Holder) bool { return false })
		for i, h := range b.Holders {
			if h.Pod.Name != "" {
				b.Holders[i].Attachment = record.Attachment{ContainerID: name(h.Attachment) + "*", IfName: "eth0"}
			}
		}
		all[addr] = b
	}
	return held(all, v.stale)
}

// wantToldOnly asks that nothing is counted that the row does not count.
func (n *node) wantToldOnly(want []string) {
	n.Helper()
	said := strings.Join(n.told, "\n")
	for _, word := range []string{"took over", "freed", "wrote", twice} {
		if strings.Contains(said, word) && !strings.Contains(strings.Join(want, "\n"), word) {
			n.Errorf("it said %q, want only %q", said, want)
		}
	}
}
