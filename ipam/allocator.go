package ipam

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// allocator serves one ADD within one transaction.
type allocator struct {
	plugin *Plugin
	state  State
	tx     Tx
	cfg    *Config
	pools  []pool       // of cfg's range sets
	wanted []netip.Addr // by range set, zero where none is requested
	holder record.Holder

	granted []grant
	notes   []string // what to tell the operator once it is committed
}

// run grants an address from every range set, in their order. The attachment
// keeps what it holds: repeating an ADD gives the same answer.
func (a *allocator) run() error {
	if err := a.nameUnknown(); err != nil {
		return err
	}
	held, err := a.tx.HeldBy(a.holder.Attachment)
	if err != nil {
		return err
	}
	if held, err = a.dropOutside(held); err != nil {
		return err
	}
	for i, from := range a.pools {
		addr, err := a.grantFrom(from, a.wanted[i], within(from.set, held))
		if err != nil {
			return Errorf(CodeOf(err), "failed to allocate for range %d: %w", i, err)
		}
		r, _ := from.set.RangeOf(addr)
		a.granted = append(a.granted, grant{addr, r})
	}
	return a.tx.SetRanges(a.cfg.RangeSets)
}

// nameUnknown takes over what the container holds without an ifname, as far as
// a witness ascribes it to the attachment.
func (a *allocator) nameUnknown() error {
	unknown, err := a.tx.HeldBy(unnamed(a.holder.Attachment))
	if err != nil {
		return err
	}
	for _, mine := range ascribed(unknown, nil, func() []netip.Addr { return a.state.Ascribed(a.cfg.Network, a.holder.Attachment) }) {
		if err := rename(a.tx, mine, a.holder.Attachment); err != nil {
			return err
		}
	}
	return nil
}

// dropOutside frees those held addresses that lie in none of today's ranges, or
// are a gateway today, if they are of an earlier boot or their namespace is dead.
func (a *allocator) dropOutside(held []record.Allocation) ([]record.Allocation, error) {
	if len(held) == 0 {
		return nil, nil
	}
	var rest []record.Allocation
	gws := gateways(a.cfg.RangeSets)
	for _, h := range held {
		_, isGateway := slices.BinarySearchFunc(gws, h.Addr, netip.Addr.Compare)
		if record.InSets(a.cfg.RangeSets, h.Addr) && !isGateway {
			rest = append(rest, h)
			continue
		}
		if !a.ownGone(h) {
			what := "lies outside today's ranges of"
			if isGateway {
				what = "is now a gateway in"
			}
			return nil, Errorf(CodeHoldsAnother, "container %s, ifname %s already holds %s, which %s network %s: DEL it first",
				a.holder.ContainerID, a.holder.IfName, h.Addr, what, a.cfg.Network)
		}
		if err := a.release(h); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// grantFrom returns the address that the attachment gets from a pool: what it
// holds, else the wanted one, else the next free one.
func (a *allocator) grantFrom(from pool, wanted netip.Addr, held []record.Allocation) (netip.Addr, error) {
	keep, kept := a.choose(from, wanted, held)
	for _, h := range held {
		switch {
		case kept && h.Addr == keep.Addr:
		case a.ownGone(h):
			if err := a.release(h); err != nil {
				return netip.Addr{}, err
			}
		case !kept: // it stands in the way of the wanted one
			return netip.Addr{}, Errorf(CodeHoldsAnother, "the requested address %s differs from %s, which container %s, ifname %s already holds: DEL it first",
				wanted, h.Addr, a.holder.ContainerID, a.holder.IfName)
		}
	}
	switch {
	case kept:
		return keep.Addr, a.renew(from.set, keep)
	case wanted.IsValid():
		return wanted, a.takeWanted(from.set, wanted)
	}
	return a.takeNext(from)
}

// choose picks the held address to keep: the wanted one, or without a wish one
// of this boot before one of an earlier.
func (a *allocator) choose(from pool, wanted netip.Addr, held []record.Allocation) (record.Allocation, bool) {
	if wanted.IsValid() {
		i := slices.IndexFunc(held, func(h record.Allocation) bool { return h.Addr == wanted })
		if i < 0 || (a.plugin.Stale(a.tx.Epoch(), held[i]) && a.holdsNow(held)) {
			return record.Allocation{}, false
		}
		return held[i], true
	}
	for _, h := range held {
		if !a.plugin.Stale(a.tx.Epoch(), h) {
			return h, true
		}
	}
	for _, h := range held {
		if from.gives(h.Addr) {
			return h, true
		}
	}
	return record.Allocation{}, false
}

// holdsNow tells whether one of held is of this boot: it stands in the way of
// one that was held in an earlier.
func (a *allocator) holdsNow(held []record.Allocation) bool {
	return slices.ContainsFunc(held, func(h record.Allocation) bool { return !a.plugin.Stale(a.tx.Epoch(), h) })
}

// renew keeps an address that the attachment holds. What the ADD tells anew of
// the namespace and the pod is recorded, or the living would later pass for
// dead; otherwise nothing is written.
func (a *allocator) renew(set record.RangeSet, held record.Allocation) error {
	if a.plugin.Stale(a.tx.Epoch(), held) {
		return a.take(set, held.Addr)
	}
	current := held.Epoch == 0 || held.Epoch == a.tx.Epoch()
	if h := a.own(held); current && h.NetNS == a.holder.NetNS && h.Pod == a.holder.Pod && h.Origin == record.OriginAdd {
		return nil
	}
	// Of another holder only what is alive comes along into this boot.
	held = held.Without(func(h record.Holder) bool {
		return !current && h.Attachment != a.holder.Attachment && !a.plugin.Namespaces.Alive(h.NetNS)
	})
	for i, h := range held.Holders {
		if h.Attachment == a.holder.Attachment {
			h.NetNS, h.Pod, h.BootTime = a.holder.NetNS, a.holder.Pod, a.holder.BootTime
			h.Origin = record.OriginAdd // its DEL will come here, whoever gave the address
			h = h.Knowing(record.UnknownNetwork)
			if h.AllocatedAt.IsZero() {
				h.AllocatedAt = a.holder.AllocatedAt
			}
			held.Holders[i] = h
		}
	}
	held.Epoch = a.tx.Epoch()
	return a.tx.Put(held)
}

// own returns the attachment's own part in an allocation that it holds.
func (a *allocator) own(held record.Allocation) record.Holder {
	i := slices.IndexFunc(held.Holders, func(h record.Holder) bool { return h.Attachment == a.holder.Attachment })
	return held.Holders[i]
}

// ownGone tells whether the attachment's own part in an allocation may go: it
// is of an earlier boot and not alive, or its namespace is certainly gone.
func (a *allocator) ownGone(held record.Allocation) bool {
	h := a.own(held)
	earlier := held.Epoch != 0 && held.Epoch < a.tx.Epoch()
	return (earlier && !a.plugin.Namespaces.Alive(h.NetNS)) || a.plugin.Namespaces.Dead(h.NetNS)
}

// takeWanted takes a requested address, if nobody living holds it.
func (a *allocator) takeWanted(set record.RangeSet, addr netip.Addr) error {
	old, taken, err := a.tx.Get(addr)
	if err != nil {
		return err
	}
	if taken && !a.replaceable(old) {
		return Errorf(CodeRequestedTaken, "the requested address %s is held by %s", addr, describe(old))
	}
	if taken && !a.plugin.Stale(a.tx.Epoch(), old) {
		a.note("took %s back from %s: its network namespace is gone", addr, describe(old))
	}
	return a.take(set, addr)
}

// takeNext takes the first free address behind the last one given.
func (a *allocator) takeNext(from pool) (netip.Addr, error) {
	list := after(from.list, from.set, a.tx.Cursor(from.set))
	addr, ok, err := a.plugin.firstFree(a.tx, list)
	if err != nil {
		return netip.Addr{}, err
	}
	if !ok {
		freed, err := a.freeDead(from)
		if err != nil {
			return netip.Addr{}, err
		}
		if freed {
			if addr, ok, err = a.plugin.firstFree(a.tx, list); err != nil {
				return netip.Addr{}, err
			}
		}
	}
	if !ok {
		return netip.Addr{}, a.plugin.exhausted(CodeTryAgain, a.tx, a.cfg, from)
	}
	return addr, a.take(from.set, addr)
}

// freeDead is the last resort of an exhausted pool: it frees the allocations
// whose recorded namespace is certainly gone, and tells whether there were any.
func (a *allocator) freeDead(from pool) (bool, error) {
	dead, err := a.plugin.deadIn(a.tx, from)
	if err != nil {
		return false, err
	}
	for _, d := range dead {
		if err := a.tx.Delete(d.Addr); err != nil {
			return false, err
		}
		a.note("freed %s of %s: its network namespace is gone, and range set %s is exhausted", d.Addr, describe(d), short(from.set.String()))
	}
	return len(dead) > 0, nil
}

// take writes the allocation over whatever addr had before.
func (a *allocator) take(set record.RangeSet, addr netip.Addr) error {
	err := a.tx.Put(record.Allocation{Addr: addr, Epoch: a.tx.Epoch(), Holders: []record.Holder{a.holder}})
	if err != nil {
		return err
	}
	return a.tx.SetCursor(set, addr)
}

// release takes the attachment off an address, and frees it if nobody else
// holds it.
func (a *allocator) release(held record.Allocation) error {
	return release(a.tx, held, func(h record.Holder) bool { return h.Attachment == a.holder.Attachment })
}

// replaceable tells whether an allocation is of an earlier boot, or its
// namespace certainly gone.
func (a *allocator) replaceable(alloc record.Allocation) bool {
	return a.plugin.Stale(a.tx.Epoch(), alloc) || a.plugin.dead(alloc)
}

func (a *allocator) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

func within(set record.RangeSet, held []record.Allocation) []record.Allocation {
	var in []record.Allocation
	for _, h := range held {
		if _, ok := set.RangeOf(h.Addr); ok {
			in = append(in, h)
		}
	}
	return in
}
