package record

import (
	"net/netip"
	"slices"
	"strings"
)

// Range is a canonical span of addresses in one subnet. Start and End are
// inclusive, of the subnet's family and in order.
type Range struct {
	Subnet netip.Prefix `json:"subnet"`
	Start  netip.Addr   `json:"rangeStart"`
	End    netip.Addr   `json:"rangeEnd"`
	// Gateway is the zero Addr where the range has none (/31, /32, /127, /128).
	Gateway netip.Addr `json:"gateway,omitzero"`
	// Exclude lists what is never given out of this range.
	Exclude []netip.Prefix `json:"exclude,omitempty"`
}

// Contains tells whether a lies between Start and End.
func (r Range) Contains(a netip.Addr) bool {
	return a.BitLen() == r.Start.BitLen() && r.Start.Compare(a) <= 0 && a.Compare(r.End) <= 0
}

// Overlaps tells whether the two ranges share an address.
func (r Range) Overlaps(o Range) bool {
	return r.Start.BitLen() == o.Start.BitLen() && r.Start.Compare(o.End) <= 0 && o.Start.Compare(r.End) <= 0
}

// String is "start-end", as host-local writes it in its messages.
func (r Range) String() string { return r.Start.String() + "-" + r.End.String() }

// RangeSet is a list of ranges of one family, none overlapping. An attachment
// gets one address from each range set.
type RangeSet []Range

// RangeOf returns the range of s that contains a.
func (s RangeSet) RangeOf(a netip.Addr) (Range, bool) {
	for _, r := range s {
		if r.Contains(a) {
			return r, true
		}
	}
	return Range{}, false
}

// InSets tells whether a lies in a range of one of the sets.
func InSets(sets []RangeSet, a netip.Addr) bool {
	return slices.ContainsFunc(sets, func(s RangeSet) bool {
		_, in := s.RangeOf(a)
		return in
	})
}

// String lists the ranges, separated by commas. It is also the name under
// which the set's cursor is stored.
func (s RangeSet) String() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = r.String()
	}
	return strings.Join(parts, ",")
}
