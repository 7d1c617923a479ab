package ipam

import (
	"math/big"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// Usage is how the allocations of a network stand to its range sets, as an ADD
// would see them.
type Usage struct {
	Sets []SetUsage // in the order of the range sets
	// Held counts the allocations of this boot, PreviousBoot those of an
	// earlier one, which are free.
	Held, PreviousBoot int
	// Outside are the allocations of this boot that no range set would give
	// out today: the ranges have changed since.
	Outside []record.Allocation
	// Gone are the allocations of this boot whose namespaces are certainly
	// gone. Their DEL was probably lost.
	Gone []record.Allocation
}

// SetUsage is how full one range set is.
type SetUsage struct {
	Set record.RangeSet
	// Size is how many addresses the set gives out: gateways and exclusions
	// are not among them. Half of IPv6 overflows any machine integer.
	Size *big.Int
	// Held is how many of them are allocated in this boot.
	Held int
	// Gone is how many of Held an ADD would take back before it failed,
	// because their namespaces are certainly gone.
	Gone int
}

// Free is how many addresses are left.
func (s SetUsage) Free() *big.Int { return new(big.Int).Sub(s.Size, big.NewInt(int64(s.Held))) }

// Exhausted tells whether an ADD must fail, as STATUS says.
func (s SetUsage) Exhausted() bool { return s.Free().Sign() <= 0 && s.Gone == 0 }

// Percent is how much of the set is held, rounded down; 100 for a set that has
// nothing to give.
func (s SetUsage) Percent() int {
	if s.Size.Sign() == 0 {
		return 100
	}
	held := big.NewInt(100 * int64(s.Held))
	return int(held.Div(held, s.Size).Int64())
}

// Usage counts allocations, all those of one network, against its range sets.
// epoch is the number of this boot.
func (p *Plugin) Usage(epoch uint64, sets []record.RangeSet, allocations []record.Allocation) Usage {
	u := Usage{Sets: make([]SetUsage, len(sets))}
	gws := gateways(sets)
	givable := make([][]span, len(sets))
	for i, set := range sets {
		givable[i] = spans(set, gws)
		u.Sets[i] = SetUsage{Set: set, Size: addressCount(givable[i])}
	}
	for _, a := range allocations {
		if p.Stale(epoch, a) {
			u.PreviousBoot++
			continue
		}
		u.Held++
		gone := p.dead(a)
		if gone {
			u.Gone = append(u.Gone, a)
		}
		i := slices.IndexFunc(givable, func(list []span) bool { return inSpans(list, a.Addr) })
		switch {
		case i >= 0:
			u.Sets[i].Held++
			if gone {
				u.Sets[i].Gone++
			}
		case len(sets) > 0: // else the ranges are not known
			u.Outside = append(u.Outside, a)
		}
	}
	return u
}

// WholeSubnet tells whether r is what its subnet alone stands for in a
// configuration.
func WholeSubnet(r record.Range) bool {
	start, end, err := rangeText{}.bounds(r.Subnet)
	return err == nil && r.Start == start && r.End == end
}

func inSpans(list []span, addr netip.Addr) bool {
	return slices.ContainsFunc(list, func(s span) bool {
		return addr.BitLen() == s.lo.BitLen() && !addr.Less(s.lo) && !s.hi.Less(addr)
	})
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
