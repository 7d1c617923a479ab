package ipam

import (
	"math/big"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// span is a run of addresses that may be given out, both ends inclusive.
type span struct {
	lo, hi netip.Addr
	rng    int // index of the range in its set
}

// pool is a range set and what may be given out of it.
type pool struct {
	set    record.RangeSet
	list   []span // in the order of the set
	sorted []span // by address
}

// gives tells whether addr may be given out.
func (p pool) gives(addr netip.Addr) bool {
	i, found := slices.BinarySearchFunc(p.sorted, addr, func(s span, a netip.Addr) int { return s.lo.Compare(a) })
	if found {
		return true
	}
	return i > 0 && !p.sorted[i-1].hi.Less(addr) && p.sorted[i-1].lo.BitLen() == addr.BitLen()
}

// pools returns what each of sets gives out.
func pools(sets []record.RangeSet) []pool {
	gws := gateways(sets)
	all := make([]pool, len(sets))
	for i, set := range sets {
		list := spans(set, gws)
		sorted := slices.SortedFunc(slices.Values(list), func(a, b span) int { return a.lo.Compare(b.lo) })
		all[i] = pool{set, list, sorted}
	}
	return all
}

// spans lists what may be given out of set, in its order: its ranges without
// their exclusions and without any gateway. gateways are sorted.
func spans(set record.RangeSet, gateways []netip.Addr) []span {
	var all []span
	for i, r := range set {
		holes := holesIn(r, gateways)
		at := r.Start
		for _, h := range holes {
			if at.Less(h.lo) {
				all = append(all, span{at, h.lo.Prev(), i})
			}
			if !h.hi.Less(at) {
				at = h.hi.Next() // the zero Addr behind the last of all addresses
			}
			if !at.IsValid() {
				break
			}
		}
		if at.IsValid() && !r.End.Less(at) {
			all = append(all, span{at, r.End, i})
		}
	}
	return all
}

// holesIn lists what may not be given out of r, cut to r, by its first address.
func holesIn(r record.Range, gateways []netip.Addr) []span {
	var holes []span
	for _, p := range r.Exclude {
		lo, hi := p.Masked().Addr(), lastAddr(p)
		if lo.BitLen() == r.Start.BitLen() && !hi.Less(r.Start) && !r.End.Less(lo) {
			holes = append(holes, span{lo: maxAddr(lo, r.Start), hi: minAddr(hi, r.End)})
		}
	}
	first, _ := slices.BinarySearchFunc(gateways, r.Start, netip.Addr.Compare)
	for _, gw := range gateways[first:] {
		if !r.Contains(gw) {
			break
		}
		holes = append(holes, span{lo: gw, hi: gw})
	}
	slices.SortFunc(holes, func(a, b span) int { return a.lo.Compare(b.lo) })
	return holes
}

func minAddr(a, b netip.Addr) netip.Addr {
	if b.Less(a) {
		return b
	}
	return a
}

func maxAddr(a, b netip.Addr) netip.Addr {
	if a.Less(b) {
		return b
	}
	return a
}

// after rotates list, which is what set gives out, so that it begins behind the
// address last and ends with it. An address outside the set's ranges leaves it as
// it is.
func after(list []span, set record.RangeSet, last netip.Addr) []span {
	at := -1
	for i, r := range set {
		if r.Contains(last) {
			at = i
		}
	}
	if at < 0 {
		return list
	}
	var behind, upTo []span
	for _, s := range list {
		switch {
		case s.rng < at, s.rng == at && !last.Less(s.hi):
			upTo = append(upTo, s)
		case s.rng > at, s.rng == at && last.Less(s.lo):
			behind = append(behind, s)
		default: // last lies in s
			upTo = append(upTo, span{s.lo, last, s.rng})
			behind = append(behind, span{last.Next(), s.hi, s.rng})
		}
	}
	return append(behind, upTo...)
}

// gateways lists the gateways of all range sets, sorted; none of them is given
// out.
func gateways(sets []record.RangeSet) []netip.Addr {
	var all []netip.Addr
	for _, set := range sets {
		for _, r := range set {
			if r.Gateway.IsValid() {
				all = append(all, r.Gateway)
			}
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// addressCount adds up the addresses in list.
func addressCount(list []span) *big.Int {
	n := new(big.Int)
	for _, s := range list {
		lo, hi := new(big.Int).SetBytes(s.lo.AsSlice()), new(big.Int).SetBytes(s.hi.AsSlice())
		n.Add(n, hi.Sub(hi, lo))
		n.Add(n, big.NewInt(1))
	}
	return n
}
