package ipam

import (
	"net/netip"

	"github.com/bolt-local/bolt-local/store/record"
)

// span is a run of addresses that may be given out, both ends inclusive.
type span struct {
	lo, hi netip.Addr
	rng    int // index of the range in its set
}

// spans lists what may be given out of set, in its order: its ranges without
// their exclusions and without any gateway.
func spans(set record.RangeSet, gateways []netip.Addr) []span {
	var all []span
	for i, r := range set {
		rest := []span{{r.Start, r.End, i}}
		for _, p := range r.Exclude {
			rest = without(rest, p.Masked().Addr(), lastAddr(p))
		}
		for _, gw := range gateways {
			rest = without(rest, gw, gw)
		}
		all = append(all, rest...)
	}
	return all
}

// without cuts the addresses from lo to hi out of list.
func without(list []span, lo, hi netip.Addr) []span {
	var rest []span
	for _, s := range list {
		if lo.BitLen() != s.lo.BitLen() || hi.Less(s.lo) || s.hi.Less(lo) {
			rest = append(rest, s)
			continue
		}
		if s.lo.Less(lo) {
			rest = append(rest, span{s.lo, lo.Prev(), s.rng})
		}
		if hi.Less(s.hi) {
			rest = append(rest, span{hi.Next(), s.hi, s.rng})
		}
	}
	return rest
}

// after turns list so that it begins behind the address last and ends with it.
// An address outside the set's ranges leaves it as it is.
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

// gateways lists the gateways of all range sets; none of them is given out.
func gateways(sets []record.RangeSet) []netip.Addr {
	var all []netip.Addr
	for _, set := range sets {
		for _, r := range set {
			if r.Gateway.IsValid() {
				all = append(all, r.Gateway)
			}
		}
	}
	return all
}
