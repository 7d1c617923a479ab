package form

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/store/record"
)

// The stamp is stored in the checkpoint. Another way to digest would make every
// node take over its old form once more.
func TestTheDigestOfAStampIsPinned(t *testing.T) {
	for name, c := range map[string]struct {
		contents Contents
		want     string
	}{
		"of some contents": {some(), "f38d5991a50b9f4b9cb501899519ab8e"},
		"of nothing in it": {Contents{Exists: true, Bare: true, Place: "7/"}, "088094ca20ab1be95aa07330556b718b"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.contents.Stamp(); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhatIsNotThereHasNoStamp(t *testing.T) {
	for name, c := range map[string]Contents{
		"nothing": {}, "a tombstone": {Shut: &Tombstone{Network: "podnet"}}, "a tombstone of another": {Shut: &Tombstone{}},
	} {
		if got := c.Stamp(); got != "" {
			t.Errorf("%s has the stamp %q", name, got)
		}
	}
	if (Contents{Exists: true}).Stamp() == "" {
		t.Error("an empty form has none")
	}
}

// different are contents of which no two may have the same stamp.
func different() map[string]Contents {
	all := map[string]Contents{"as it was": some()}
	change := func(name string, fn func(c *Contents)) {
		c := some()
		fn(&c)
		all[name] = c
	}
	change("another place", func(c *Contents) { c.Place = "8/1:2" })
	change("no place", func(c *Contents) { c.Place = "" })
	change("another address", func(c *Contents) { c.Entries[0].Addr = ip("10.0.0.3") })
	change("another container", func(c *Contents) { c.Entries[0].Holder.ContainerID = "b" })
	change("another ifname", func(c *Contents) { c.Entries[0].Holder.IfName = "eth1" })
	change("no ifname", func(c *Contents) { c.Entries[0].Holder.IfName = "" })
	change("another mark", func(c *Contents) { c.Entries[0].Holder.Mark = "m9" })
	change("no mark", func(c *Contents) { c.Entries[0].Holder.Mark = "" })
	change("a letter moved from one field to the next", func(c *Contents) { c.Entries[0].Holder = holder("ae", "th0", "m1") })
	change("a letter moved from one field to the last", func(c *Contents) { c.Entries[0].Holder = holder("a", "eth0m", "1") })
	change("an entry less", func(c *Contents) { c.Entries = c.Entries[1:] })
	change("the other entry less", func(c *Contents) { c.Entries = c.Entries[:1] })
	change("no entries", func(c *Contents) { c.Entries = nil })
	change("an entry more", func(c *Contents) { c.Entries = append(c.Entries, entry("fd00::3", "b", "eth0", "m5")) })
	change("another address set aside", func(c *Contents) { c.SetAside[0].Addr = ip("10.0.0.6") })
	change("another mark of what is set aside", func(c *Contents) { c.SetAside[0].Mark = "m9" })
	change("less set aside", func(c *Contents) { c.SetAside = c.SetAside[:1] })
	change("nothing set aside", func(c *Contents) { c.SetAside = nil })
	change("more set aside", func(c *Contents) { c.SetAside = append(c.SetAside, Aside{Addr: ip("fd00::9"), Mark: "m6"}) })
	change("set aside what was an entry", func(c *Contents) {
		c.Entries, c.SetAside = c.Entries[1:], append([]Aside{{Addr: ip("10.0.0.2"), Mark: "m1"}}, c.SetAside...)
	})
	change("an entry that was set aside", func(c *Contents) {
		c.Entries, c.SetAside = append(c.Entries, entry("10.0.0.7", "", "", "m3")), c.SetAside[1:]
	})
	change("an IPv4-mapped address", func(c *Contents) { c.Entries[0].Addr = ip("::ffff:10.0.0.2") })
	return all
}

func TestDifferentContentsHaveDifferentStamps(t *testing.T) {
	seen := map[string]string{}
	for name, c := range different() {
		stamp := c.Stamp()
		if other, twice := seen[stamp]; twice {
			t.Errorf("%s and %s have both %s", name, other, stamp)
		}
		seen[stamp] = name
	}
}

func TestWhatAStampLeavesOut(t *testing.T) {
	want := some().Stamp()
	for name, fn := range map[string]func(c *Contents){
		"the last addresses":        func(c *Contents) { c.Last = map[int]netip.Addr{0: ip("10.0.0.3"), 1: ip("fd00::2")} },
		"no last addresses":         func(c *Contents) { c.Last = nil },
		"that nothing is in it":     func(c *Contents) { c.Bare = true },
		"the boot of what is aside": func(c *Contents) { c.SetAside[0].Epoch = 9 },
		"the rest of a holder": func(c *Contents) {
			c.Entries[0].Holder.Origin, c.Entries[0].Holder.AllocatedAt = record.OriginHostLocal, time.Unix(1, 0)
			c.Entries[0].Holder.NetNS.Path = "/var/run/netns/x"
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := some()
			fn(&c)
			if got := c.Stamp(); got != want {
				t.Errorf("it is %q, want %q", got, want)
			}
		})
	}
}

// Each one of many entries counts, wherever it stands.
func TestEveryOneOfManyEntriesCounts(t *testing.T) {
	c := Contents{Exists: true, Place: "7/1:2"}
	addr := ip("10.0.0.0")
	for i := range 500 {
		addr = addr.Next()
		c.Entries = append(c.Entries, Entry{Addr: addr, Holder: holder(fmt.Sprintf("container-%d", i), "eth0", fmt.Sprintf("%d:1", i))})
	}
	seen := map[string]int{c.Stamp(): -1}
	for i := range c.Entries {
		other := c
		other.Entries = slices.Clone(c.Entries)
		other.Entries[i].Holder.Mark += "0"
		if j, twice := seen[other.Stamp()]; twice {
			t.Fatalf("a change of entry %d gives the same stamp as one of %d", i, j)
		}
		seen[other.Stamp()] = i
	}
}
