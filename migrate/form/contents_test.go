package form

import (
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/store/record"
)

func TestAnEntryIsFoundByItsAddress(t *testing.T) {
	c := some()
	for _, e := range c.Entries {
		if got, ok := c.At(e.Addr); !ok || got.Addr != e.Addr || got.Holder.Mark != e.Holder.Mark {
			t.Errorf("%s: %+v, %v", e.Addr, got, ok)
		}
	}
	for _, addr := range []string{"10.0.0.1", "10.0.0.3", "10.0.0.7", "fd00::3", "::ffff:10.0.0.2"} {
		if got, ok := c.At(ip(addr)); ok {
			t.Errorf("%s: %+v", addr, got)
		}
	}
	if got, ok := (Contents{}).At(ip("10.0.0.2")); ok {
		t.Errorf("nothing has %+v", got)
	}
}

func TestWhatIsSetAsideIsFoundByItsAddress(t *testing.T) {
	c := some()
	for _, a := range c.SetAside {
		if got, ok := c.AsideAt(a.Addr); !ok || got != a {
			t.Errorf("%s: %+v, %v", a.Addr, got, ok)
		}
	}
	for _, addr := range []string{"10.0.0.2", "10.0.0.6", "fd00::2"} {
		if got, ok := c.AsideAt(ip(addr)); ok {
			t.Errorf("%s: %+v", addr, got)
		}
	}
}

func TestContentsAfterChanges(t *testing.T) {
	had := func(i int) *Entry { return &some().Entries[i] }
	want := func(id string) *record.Holder { // who is known better than an entry tells
		h := holder(id, "eth0", "stale")
		h.Origin, h.NetNS, h.BootTime = record.OriginAdd, record.NetNS{Path: "/ns/" + id, Inode: 7}, time.Second
		h.Pod.Name = id
		return &h
	}
	type expect struct {
		entries []Entry
		aside   []Aside
	}
	was := some()
	for name, c := range map[string]struct {
		changes []Change
		marks   []string
		want    expect
	}{
		"none": {nil, nil, expect{was.Entries, was.SetAside}},
		"one more, first in order": {
			[]Change{{Addr: ip("10.0.0.1"), Want: want("b")}}, []string{"n1"},
			expect{[]Entry{entry("10.0.0.1", "b", "eth0", "n1"), was.Entries[0], was.Entries[1]}, was.SetAside}},
		"one more, last in order": {
			[]Change{{Addr: ip("fd00::3"), Want: want("b")}}, []string{"n1"},
			expect{[]Entry{was.Entries[0], was.Entries[1], entry("fd00::3", "b", "eth0", "n1")}, was.SetAside}},
		"another holder": {
			[]Change{{Addr: ip("10.0.0.2"), Had: had(0), Want: want("b")}}, []string{"n1"},
			expect{[]Entry{entry("10.0.0.2", "b", "eth0", "n1"), was.Entries[1]}, was.SetAside}},
		"one less": {
			[]Change{{Addr: ip("10.0.0.2"), Had: had(0)}}, []string{""},
			expect{was.Entries[1:], was.SetAside}},
		"a holder of what was set aside": {
			[]Change{{Addr: ip("10.0.0.7"), Had: &Entry{Addr: ip("10.0.0.7"), Holder: holder("", "", "m3")}, Want: want("b")}}, []string{"n1"},
			expect{[]Entry{was.Entries[0], entry("10.0.0.7", "b", "eth0", "n1"), was.Entries[1]}, was.SetAside[1:]}},
		"less set aside": {
			[]Change{{Addr: ip("10.0.0.7"), Had: &Entry{Addr: ip("10.0.0.7"), Holder: holder("", "", "m3")}}}, []string{""},
			expect{was.Entries, was.SetAside[1:]}},
		"beside what is set aside for good": {
			[]Change{{Addr: ip("10.0.0.8"), Want: want("b")}}, []string{"n1"},
			expect{[]Entry{was.Entries[0], entry("10.0.0.8", "b", "eth0", "n1"), was.Entries[1]}, was.SetAside}},
		"all at once": {
			[]Change{
				{Addr: ip("fd00::2"), Had: had(1)},
				{Addr: ip("10.0.0.2"), Had: had(0), Want: want("b")},
				{Addr: ip("10.0.0.7"), Had: &Entry{}, Want: want("c")},
				{Addr: ip("fd00::1"), Want: want("d")},
			}, []string{"", "n2", "n3", "n4"},
			expect{[]Entry{entry("10.0.0.2", "b", "eth0", "n2"), entry("10.0.0.7", "c", "eth0", "n3"), entry("fd00::1", "d", "eth0", "n4")}, was.SetAside[1:]}},
	} {
		t.Run(name, func(t *testing.T) {
			c0 := some()
			got := c0.After(c.changes, c.marks)
			expected := some()
			expected.Entries, expected.SetAside = c.want.entries, c.want.aside
			if d := diff(expected, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if got.Stamp() != expected.Stamp() {
				t.Error("the stamp is another")
			}
			if d := diff(some(), c0); d != "" {
				t.Errorf("the contents of before have changed:\n%s", d)
			}
			for _, ch := range c.changes {
				if ch.Want != nil && ch.Want.Mark != "stale" {
					t.Errorf("the change has the mark %q", ch.Want.Mark)
				}
			}
		})
	}
}

func TestContentsAreNotBareAfterChanges(t *testing.T) {
	c := Contents{Exists: true, Bare: true}
	h := holder("a", "eth0", "")
	if got := c.After([]Change{{Addr: ip("10.0.0.2"), Want: &h}}, []string{"m"}); got.Bare || !got.Exists {
		t.Errorf("%+v", got)
	}
}
