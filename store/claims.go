package store

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// A claim is what one source says of one address: that it is held in this boot.
type claim struct {
	network string
	alloc   record.Allocation
	source  string // for people
}

// Vouched is an allocation of a rebuilt checkpoint and who vouched for it.
type Vouched struct {
	Network    string
	Allocation record.Allocation
	// Sources has at least one, the best first.
	Sources []string
	// Contested is why the address has more than one holder, "" where it has
	// not. Nobody is given it until the last of them is gone.
	Contested string
}

// claims returns what c says of this boot. alive tells of a namespace that is
// there: what holds one is never of an earlier boot.
func (c *content) claims(source, bootID string, alive func(record.NetNS) bool) []claim {
	current := c.currentEpoch(bootID)
	var all []claim
	for name, network := range c.at(bucketNetworks).each() {
		for key, value := range network.at(bucketAllocations).eachValue() {
			addr, err := keyAddr([]byte(key))
			if err != nil {
				continue
			}
			a, err := record.Decode(name, addr, value)
			if err != nil || earlier(a, current, alive) {
				continue
			}
			all = append(all, claim{name, a, source})
		}
	}
	return all
}

// earlier tells whether a is of a boot before the one whose number is current.
func earlier(a record.Allocation, current uint64, alive func(record.NetNS) bool) bool {
	return a.Epoch != 0 && a.Epoch < current && !anyAlive(a, alive)
}

func anyAlive(a record.Allocation, alive func(record.NetNS) bool) bool {
	return slices.ContainsFunc(a.Holders, func(h record.Holder) bool { return alive(h.NetNS) })
}

// settle brings claims together: one allocation for each address, sorted by
// network and address. The claims of a better source come first; it gives what
// is known of a holder that several name. Of holders that contradict each other
// those alive are right, and where none is, nobody can tell.
func settle(claims []claim, alive func(record.NetNS) bool) []Vouched {
	type key struct {
		network string
		addr    netip.Addr
	}
	byAddr := map[key]*Vouched{}
	together := map[key][]record.Allocation{}
	for _, c := range claims {
		k := key{c.network, c.alloc.Addr}
		together[k] = append(together[k], c.alloc)
		v := byAddr[k]
		if v == nil {
			v = &Vouched{Network: c.network, Allocation: c.alloc}
			v.Allocation.Holders = nil
			byAddr[k] = v
		}
		if !slices.Contains(v.Sources, c.source) {
			v.Sources = append(v.Sources, c.source)
		}
		for _, h := range c.alloc.Holders {
			v.add(h)
		}
	}
	all := make([]Vouched, 0, len(byAddr))
	for k, v := range byAddr {
		v.contest(together[k], alive)
		v.Allocation.Epoch = 0 // this boot's, whatever number that has
		all = append(all, *v)
	}
	slices.SortFunc(all, func(a, b Vouched) int {
		return cmp.Or(cmp.Compare(a.Network, b.Network), a.Allocation.Addr.Compare(b.Allocation.Addr))
	})
	return all
}

// add adds a holder, unless it is there. One without an ifname is the same as
// another of its container.
func (v *Vouched) add(h record.Holder) {
	for i, had := range v.Allocation.Holders {
		switch {
		case had.Attachment == h.Attachment, had.ContainerID == h.ContainerID && h.IfName == "":
			v.Allocation.Holders[i].Mark = cmp.Or(had.Mark, h.Mark)
			return
		case had.ContainerID == h.ContainerID && had.IfName == "":
			h.Mark = cmp.Or(h.Mark, had.Mark)
			v.Allocation.Holders[i] = h
			return
		}
	}
	v.Allocation.Holders = append(v.Allocation.Holders, h)
}

// contest judges an address with several holders. Whom one source names together
// with a living one holds the address with it, and may live.
func (v *Vouched) contest(named []record.Allocation, alive func(record.NetNS) bool) {
	if len(v.Allocation.Holders) < 2 {
		return
	}
	may := func(h record.Holder) bool {
		return alive(h.NetNS) || slices.ContainsFunc(named, func(a record.Allocation) bool {
			others := a.Without(func(other record.Holder) bool { return other.Attachment == h.Attachment })
			return h.NetNS.Inode == 0 && len(others.Holders) < len(a.Holders) && anyAlive(others, alive)
		})
	}
	if living := v.Allocation.Without(func(h record.Holder) bool { return !may(h) }); len(living.Holders) > 0 {
		v.Allocation = living
	}
	if len(v.Allocation.Holders) > 1 {
		v.Contested = "its sources name different holders, and none of them is known to be gone"
	}
}
