package ipam

import (
	"cmp"
	"net/netip"
	"slices"
	"sort"
	"strings"

	"github.com/bolt-local/bolt-local/store/record"
)

// parseExcludes parses entries of an exclude list, each an address or a prefix,
// into canonical form.
func parseExcludes(texts []textAt) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, f := range texts {
		p, err := parseExclude(f)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return disjoint(list), nil
}

func parseExclude(f textAt) (netip.Prefix, error) {
	if strings.Contains(f.text, "/") {
		return parsePrefix(f)
	}
	a, err := parseAddr(f)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// excludeFrom sets r.Exclude to what the range's own list and that of all
// ranges exclude from r. In its own list, an entry of the other family is an
// error: it was meant for another range.
func excludeFrom(r *record.Range, own []textAt, all []netip.Prefix) error {
	var list []netip.Prefix
	for _, f := range own {
		p, err := parseExclude(f)
		if err != nil {
			return err
		}
		if p.Addr().BitLen() != r.Start.BitLen() {
			return invalid(f, "is %s, but subnet %s is %s", family(p.Addr()), r.Subnet, family(r.Start))
		}
		list = append(list, p)
	}
	list = append(touching(disjoint(list), *r), touching(all, *r)...)
	r.Exclude = disjoint(list)
	return nil
}

// disjoint returns the prefixes in order, without those that another contains.
// Prefixes nest or have nothing in common, so the wider of two that begin
// alike comes first and everything that it contains follows it.
func disjoint(list []netip.Prefix) []netip.Prefix {
	slices.SortFunc(list, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	var kept []netip.Prefix
	for _, p := range list {
		if len(kept) == 0 || !kept[len(kept)-1].Contains(p.Addr()) {
			kept = append(kept, p)
		}
	}
	return kept
}

// touching returns the part of a disjoint list that shares an address with r.
// It searches: the cost of many ranges times many entries would be paid at
// every pod start.
func touching(list []netip.Prefix, r record.Range) []netip.Prefix {
	from := sort.Search(len(list), func(i int) bool { return !lastAddr(list[i]).Less(r.Start) })
	to := sort.Search(len(list), func(i int) bool { return r.End.Less(list[i].Addr()) })
	if from >= to {
		return nil
	}
	return slices.Clone(list[from:to])
}

// excludedBy returns the entry that keeps r from giving out a.
func excludedBy(r record.Range, a netip.Addr) (netip.Prefix, bool) {
	// The entry that could contain a is the last one that begins at or below it.
	i := sort.Search(len(r.Exclude), func(i int) bool { return a.Less(r.Exclude[i].Addr()) })
	if i == 0 || !r.Exclude[i-1].Contains(a) {
		return netip.Prefix{}, false
	}
	return r.Exclude[i-1], true
}
