package ipam

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/store/record"
)

// allocator serves one ADD within one transaction.
type allocator struct {
	plugin *Plugin
	tx     Tx
	cfg    *Config
	wanted []netip.Addr // by range set, zero where none is requested
	holder record.Holder

	granted []grant
	notes   []string // what to tell the operator once it is committed
}

// run grants an address from every range set, in their order. The attachment
// keeps what it holds: repeating an ADD gives the same answer.
func (a *allocator) run() error {
	held, err := a.tx.HeldBy(a.holder.Attachment)
	if err != nil {
		return err
	}
	if held, err = a.dropOutside(held); err != nil {
		return err
	}
	for i, set := range a.cfg.RangeSets {
		addr, err := a.grantFrom(set, a.wanted[i], within(set, held))
		if err != nil {
			return Errorf(CodeOf(err), "failed to allocate for range %d: %w", i, err)
		}
		r, _ := set.RangeOf(addr)
		a.granted = append(a.granted, grant{addr, r})
	}
	return a.tx.SetRanges(a.cfg.RangeSets)
}

// dropOutside frees those held addresses that lie in none of today's ranges,
// if they are of an earlier boot or their namespace is dead.
func (a *allocator) dropOutside(held []record.Allocation) ([]record.Allocation, error) {
	var rest []record.Allocation
	for _, h := range held {
		if inSets(a.cfg.RangeSets, h.Addr) {
			rest = append(rest, h)
			continue
		}
		if !a.replaceable(h) {
			return nil, Errorf(CodeHoldsAnother, "container %s, ifname %s already holds %s, which lies outside today's ranges of network %s: DEL it first",
				a.holder.ContainerID, a.holder.IfName, h.Addr, a.cfg.Network)
		}
		if err := a.release(h); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// grantFrom returns the address that the attachment gets from set: what it
// holds, else the wanted one, else the next free one.
func (a *allocator) grantFrom(set record.RangeSet, wanted netip.Addr, held []record.Allocation) (netip.Addr, error) {
	keep, kept := a.choose(set, wanted, held)
	for _, h := range held {
		switch {
		case kept && h.Addr == keep.Addr:
		case a.replaceable(h):
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
		return keep.Addr, a.renew(set, keep)
	case wanted.IsValid():
		return wanted, a.takeWanted(set, wanted)
	}
	return a.takeNext(set)
}

// choose picks the held address to keep: the wanted one, or without a wish one
// of this boot before one of an earlier.
func (a *allocator) choose(set record.RangeSet, wanted netip.Addr, held []record.Allocation) (record.Allocation, bool) {
	if wanted.IsValid() {
		i := slices.IndexFunc(held, func(h record.Allocation) bool { return h.Addr == wanted })
		if i < 0 {
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
		if a.givable(set, h.Addr) {
			return h, true
		}
	}
	return record.Allocation{}, false
}

// renew keeps an address that the attachment holds. What the ADD tells anew of
// the namespace and the pod is recorded, or the living would later pass for
// dead; otherwise nothing is written.
func (a *allocator) renew(set record.RangeSet, held record.Allocation) error {
	if a.plugin.Stale(a.tx.Epoch(), held) {
		return a.take(set, held.Addr)
	}
	i := slices.IndexFunc(held.Holders, func(h record.Holder) bool { return h.Attachment == a.holder.Attachment })
	h := held.Holders[i]
	current := held.Epoch == 0 || held.Epoch == a.tx.Epoch()
	if current && h.NetNS == a.holder.NetNS && h.Pod == a.holder.Pod {
		return nil
	}
	h.NetNS, h.Pod, h.BootTime = a.holder.NetNS, a.holder.Pod, a.holder.BootTime
	held.Holders = slices.Clone(held.Holders)
	held.Holders[i] = h
	held.Epoch = a.tx.Epoch()
	return a.tx.Put(held)
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
func (a *allocator) takeNext(set record.RangeSet) (netip.Addr, error) {
	addr, ok, err := a.firstFree(set)
	if err != nil {
		return netip.Addr{}, err
	}
	if !ok {
		freed, err := a.freeDead(set)
		if err != nil {
			return netip.Addr{}, err
		}
		if freed > 0 {
			addr, ok, err = a.firstFree(set)
			if err != nil {
				return netip.Addr{}, err
			}
		}
	}
	if !ok {
		held, err := countHeld(a.tx, set)
		if err != nil {
			return netip.Addr{}, err
		}
		why := ""
		if unsure := a.plugin.Namespaces.Unsure(); unsure != nil {
			why = "; " + unsure.Error()
		}
		return netip.Addr{}, Errorf(CodeTryAgain, "no IP addresses available in range set: %s of network %s: %d held; see `bolt-local dump`%s", set, a.cfg.Network, held, why)
	}
	return addr, a.take(set, addr)
}

func (a *allocator) firstFree(set record.RangeSet) (netip.Addr, bool, error) {
	list := after(spans(set, gateways(a.cfg.RangeSets)), set, a.tx.Cursor(set))
	return a.plugin.firstFree(a.tx, list)
}

// firstFree looks through list in its order.
func (p *Plugin) firstFree(r Reader, list []span) (netip.Addr, bool, error) {
	for _, s := range list {
		addr, ok, err := r.FirstFree(s.lo, s.hi, func(a record.Allocation) bool { return p.Stale(r.Epoch(), a) })
		if ok || err != nil {
			return addr, ok, err
		}
	}
	return netip.Addr{}, false, nil
}

// freeDead is the last resort of an exhausted set: it frees the allocations
// whose recorded namespace is certainly gone.
func (a *allocator) freeDead(set record.RangeSet) (int, error) {
	dead, err := a.plugin.deadIn(a.tx, spans(set, gateways(a.cfg.RangeSets)))
	if err != nil {
		return 0, err
	}
	for _, d := range dead {
		if err := a.tx.Delete(d.Addr); err != nil {
			return 0, err
		}
		a.note("freed %s of %s: its network namespace is gone, and range set %s is exhausted", d.Addr, describe(d), set)
	}
	return len(dead), nil
}

// deadIn lists the allocations in list whose namespaces are certainly gone.
func (p *Plugin) deadIn(r Reader, list []span) ([]record.Allocation, error) {
	var dead []record.Allocation
	err := r.Each(func(alloc record.Allocation) error {
		if inSpans(list, alloc.Addr) && p.dead(alloc) {
			dead = append(dead, alloc)
		}
		return nil
	})
	return dead, err
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

// givable tells whether addr may be given out of set today.
func (a *allocator) givable(set record.RangeSet, addr netip.Addr) bool {
	return inSpans(spans(set, gateways(a.cfg.RangeSets)), addr)
}

func (a *allocator) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

func inSets(sets []record.RangeSet, addr netip.Addr) bool {
	return slices.ContainsFunc(sets, func(s record.RangeSet) bool { _, ok := s.RangeOf(addr); return ok })
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

func countHeld(r Reader, set record.RangeSet) (int, error) {
	n := 0
	err := r.Each(func(alloc record.Allocation) error {
		if _, ok := set.RangeOf(alloc.Addr); ok {
			n++
		}
		return nil
	})
	return n, err
}

// release removes the holders that drop selects from an allocation.
func release(tx Tx, alloc record.Allocation, drop func(record.Holder) bool) error {
	return Settle(tx, alloc.Without(drop))
}

// describe names the holders of an allocation for a message.
func describe(a record.Allocation) string {
	text := ""
	for i, h := range a.Holders {
		if i > 0 {
			text += " and "
		}
		ifname := h.IfName
		if ifname == "" {
			ifname = "?"
		}
		text += "container " + h.ContainerID + ", ifname " + ifname
		if h.Pod.Name != "" {
			text += ", pod " + h.Pod.Namespace + "/" + h.Pod.Name
		}
		if !h.AllocatedAt.IsZero() {
			text += ", since " + h.AllocatedAt.UTC().Format(time.RFC3339)
		}
	}
	return text
}
