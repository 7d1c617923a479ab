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
	// Size is how many addresses the set gives out: gateways, exclusions and
	// what is set aside are not among them. Half of IPv6 overflows any machine
	// integer.
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
// epoch is the number of this boot. aside are addresses that nobody is given.
func (p *Plugin) Usage(epoch uint64, sets []record.RangeSet, allocations []record.Allocation, aside []netip.Addr) Usage {
	u := Usage{Sets: make([]SetUsage, len(sets))}
	from := pools(sets)
	for i, p := range from {
		u.Sets[i] = SetUsage{Set: p.set, Size: addressCount(p.list)}
	}
	held := map[netip.Addr]bool{}
	for _, a := range allocations {
		held[a.Addr] = !p.Stale(epoch, a)
	}
	for _, addr := range aside {
		i := slices.IndexFunc(from, func(p pool) bool { return p.gives(addr) })
		if i >= 0 && !held[addr] {
			u.Sets[i].Size.Sub(u.Sets[i].Size, big.NewInt(1))
		}
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
		i := slices.IndexFunc(from, func(p pool) bool { return p.gives(a.Addr) })
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
