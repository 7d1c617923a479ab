package ipam

import (
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// canonical returns the range with all that the text leaves to be filled in,
// but for what is excluded from it.
//
// The defaults are those of host-local: everything from the network address
// plus one to the last address, which in IPv4 is the one before the broadcast
// address, and the network address plus one as the gateway. In a /31, /32, /127
// or /128 there is no room for that: all addresses count, none is the gateway.
func (t rangeText) canonical() (record.Range, error) {
	if t.subnet == "" {
		return record.Range{}, Errorf(CodeConfig, "%s.subnet is missing", t.path)
	}
	subnet, err := parsePrefix(t.field("subnet", t.subnet))
	if err != nil {
		return record.Range{}, err
	}
	r := record.Range{Subnet: subnet}
	if r.Start, r.End, err = t.bounds(subnet); err != nil {
		return record.Range{}, err
	}
	if r.Gateway, err = t.gatewayIn(subnet); err != nil {
		return record.Range{}, err
	}
	return r, nil
}

// bounds returns the first and the last address of the range.
func (t rangeText) bounds(subnet netip.Prefix) (start, end netip.Addr, err error) {
	lowest, highest := usable(subnet)
	start, end = lowest, highest
	if !tiny(subnet) {
		// In IPv6 the subnet's own address, its routers' anycast address, is
		// given out only where rangeStart names it.
		start = subnet.Addr().Next()
	}
	if t.start != "" {
		if start, err = t.inSubnet("rangeStart", t.start, subnet); err != nil {
			return start, end, err
		}
		if highest.Less(start) {
			return start, end, invalid(t.field("rangeStart", t.start),
				"is the broadcast address of %s, which is never given out; the range is empty", subnet)
		}
		if start.Less(lowest) {
			start = lowest
		}
	}
	if t.end != "" {
		if end, err = t.inSubnet("rangeEnd", t.end, subnet); err != nil {
			return start, end, err
		}
		if end.Less(lowest) {
			return start, end, invalid(t.field("rangeEnd", t.end),
				"is the network address of %s, which is never given out; the range is empty", subnet)
		}
		if highest.Less(end) {
			end = highest
		}
	}
	if end.Less(start) {
		return start, end, Errorf(CodeConfig, "%s: rangeStart %s is after rangeEnd %s in subnet %s", t.path, start, end, subnet)
	}
	return start, end, nil
}

// usable returns the first and the last address of a subnet that may be given
// out. host-local gives IPv4 network and broadcast addresses to pods where a
// range names them; nobody can talk to such a pod.
func usable(subnet netip.Prefix) (lowest, highest netip.Addr) {
	lowest, highest = subnet.Addr(), lastAddr(subnet)
	if lowest.Is4() && !tiny(subnet) {
		lowest, highest = lowest.Next(), highest.Prev()
	}
	return lowest, highest
}

// inSubnet parses a bound of the range.
func (t rangeText) inSubnet(name, text string, subnet netip.Prefix) (netip.Addr, error) {
	f := t.field(name, text)
	a, err := parseAddr(f)
	if err == nil && !subnet.Contains(a) {
		err = invalid(f, "is outside of subnet %s", subnet)
	}
	return a, err
}

// gatewayIn returns the gateway. It may lie outside of the subnet, which some
// providers need; of the other family it would only make ADD fail later.
func (t rangeText) gatewayIn(subnet netip.Prefix) (netip.Addr, error) {
	if t.gateway == "" {
		if tiny(subnet) {
			return netip.Addr{}, nil
		}
		return subnet.Addr().Next(), nil
	}
	f := t.field("gateway", t.gateway)
	a, err := parseAddr(f)
	if err == nil && a.BitLen() != subnet.Addr().BitLen() {
		err = invalid(f, "is %s, but subnet %s is %s", family(a), subnet, family(subnet.Addr()))
	}
	return a, err
}

// canonicalSets returns the range sets in canonical form. No two ranges share
// an address, in one set or in two.
func canonicalSets(texts []setText, exclude []textAt) ([]record.RangeSet, error) {
	excluded, err := parseExcludes(exclude)
	if err != nil {
		return nil, err
	}
	var sets []record.RangeSet
	var all []placedRange
	for _, text := range texts {
		set, err := text.canonical()
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
		for j, r := range set {
			all = append(all, placedRange{r, text.ranges[j].path})
		}
	}
	if err := checkOverlaps(all); err != nil {
		return nil, err
	}
	for i, text := range texts {
		for j := range sets[i] {
			if err := excludeFrom(&sets[i][j], text.ranges[j].exclude, excluded); err != nil {
				return nil, err
			}
		}
	}
	return sets, nil
}

// canonical returns the ranges of the set, all of one family.
func (t setText) canonical() (record.RangeSet, error) {
	if len(t.ranges) == 0 {
		return nil, Errorf(CodeConfig, "%s is an empty range set", t.path)
	}
	set := make(record.RangeSet, len(t.ranges))
	for i, text := range t.ranges {
		r, err := text.canonical()
		if err != nil {
			return nil, err
		}
		if i > 0 && r.Start.BitLen() != set[0].Start.BitLen() {
			return nil, invalid(text.field("subnet", text.subnet),
				"is %s, but %s.subnet is %s; a range set has addresses of one family, give the other a set of its own",
				family(r.Start), t.ranges[0].path, family(set[0].Start))
		}
		set[i] = r
	}
	return set, nil
}

// placedRange is a range and the path that leads to it.
type placedRange struct {
	record.Range
	path string
}

// checkOverlaps refuses two ranges that share an address. It sorts all: in
// order, a range that overlaps any other overlaps a neighbour.
func checkOverlaps(all []placedRange) error {
	slices.SortStableFunc(all, func(a, b placedRange) int { return a.Start.Compare(b.Start) })
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if a.Overlaps(b.Range) {
			return Errorf(CodeConfig, "%s.subnet: %s overlaps %s of %s.subnet", a.path, a, b, b.path)
		}
	}
	return nil
}

// WholeSubnet tells whether r is what its subnet alone stands for in a
// configuration.
func WholeSubnet(r record.Range) bool {
	start, end, err := rangeText{}.bounds(r.Subnet)
	return err == nil && r.Start == start && r.End == end
}
