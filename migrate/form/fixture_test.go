package form

import (
	"net/netip"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bolt-local/bolt-local/store/record"
)

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

func holder(id, ifname, mark string) record.Holder {
	return record.Holder{Attachment: record.Attachment{ContainerID: id, IfName: ifname}, Origin: record.OriginHostLocal, Mark: mark}
}

func entry(addr, id, ifname, mark string) Entry {
	return Entry{Addr: ip(addr), Holder: holder(id, ifname, mark)}
}

// some are contents with two of each.
func some() Contents {
	return Contents{
		Exists:  true,
		Place:   "7/1:2",
		Entries: []Entry{entry("10.0.0.2", "a", "eth0", "m1"), entry("fd00::2", "a", "eth0", "m2")},
		SetAside: []Aside{
			{Addr: ip("10.0.0.7"), Mark: "m3"},
			{Addr: ip("10.0.0.8"), Mark: "m4", Fixed: true},
		},
		Last: map[int]netip.Addr{0: ip("10.0.0.2")},
	}
}

func diff(a, b Contents) string {
	return cmp.Diff(a, b, cmpopts.EquateComparable(netip.Addr{}), cmpopts.IgnoreUnexported(record.Holder{}), cmpopts.EquateEmpty())
}
