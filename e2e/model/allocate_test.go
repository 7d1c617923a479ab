package model

import (
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store/record"
)

// attempt is what a verb works on. What it changes is void where it fails.
type attempt struct {
	*node
	state
	directory
	phase engine.Phase
}

// add is ADD's part.
func add(att record.Attachment, requested netip.Addr, answer *[]netip.Addr) func(*attempt) uint {
	return func(t *attempt) uint {
		var got []netip.Addr
		for set := range t.sets {
			want := netip.Addr{}
			if slices.Contains(t.sets[set].addresses, requested) {
				want = requested
			}
			addr, code := t.grant(set, att, want)
			if code != 0 {
				return code
			}
			got = append(got, addr)
		}
		*answer = got
		return 0
	}
}

// grant gives the attachment an address of a range set: what it holds, else the
// wanted one, else the next.
func (t *attempt) grant(set int, att record.Attachment, want netip.Addr) (netip.Addr, uint) {
	var mine []netip.Addr
	for _, addr := range t.held.of(att) {
		if slices.Contains(t.sets[set].addresses, addr) {
			mine = append(mine, addr)
		}
	}
	now := func(a netip.Addr) bool { return !t.stale(t.state, t.held[a]) }
	keep := want
	if !want.IsValid() && len(mine) > 0 {
		keep = mine[max(slices.IndexFunc(mine, now), 0)]
	}
	kept := slices.Contains(mine, keep)
	if kept && !now(keep) && slices.ContainsFunc(mine, now) {
		kept = false // one of this boot stands in its way
	}
	for _, addr := range mine {
		switch {
		case kept && addr == keep:
		case t.ownGone(addr, att):
			t.held.without(addr, func(h holding) bool { return h.Attachment == att })
		case !kept:
			return netip.Addr{}, ipam.CodeHoldsAnother
		}
	}
	switch {
	case kept && !t.stale(t.state, t.held[keep]):
		t.renew(keep, att)
		return keep, 0
	case !keep.IsValid():
		if keep = t.next(set); !keep.IsValid() {
			return netip.Addr{}, ipam.CodeTryAgain
		}
	case !kept && !t.free(keep) && !t.dead(t.held[keep]):
		return netip.Addr{}, ipam.CodeRequestedTaken
	}
	t.held[keep] = allocation{t.epoch, []holding{{Attachment: att, netns: t.spaces.of(att.ContainerID)}}}
	t.cursors[set] = keep
	return keep, 0
}

func (t *attempt) free(addr netip.Addr) bool {
	a, held := t.held[addr]
	return !held || t.stale(t.state, a)
}

// ownGone tells whether the attachment's part in an address may go.
func (t *attempt) ownGone(addr netip.Addr, att record.Attachment) bool {
	a := t.held[addr]
	own := a.holders[slices.IndexFunc(a.holders, func(h holding) bool { return h.Attachment == att })]
	return (a.epoch != 0 && a.epoch < t.epoch && !t.spaces.Alive(own.netns)) || t.spaces.Dead(own.netns)
}

// renew records the namespace that the attachment has now, and that its DEL will
// come here.
func (t *attempt) renew(addr netip.Addr, att record.Attachment) {
	a := t.held[addr]
	a.holders = slices.Clone(a.holders)
	for i, h := range a.holders {
		if h.Attachment == att {
			a.holders[i].netns, a.holders[i].theirs = t.spaces.of(att.ContainerID), false
		}
	}
	t.held[addr] = a
}

// next is round robin behind the last address given. Where all are held, those
// of the dead are free.
func (t *attempt) next(set int) netip.Addr {
	list := t.sets[set].addresses
	last := t.cursors[set]
	if addr := t.last[set]; t.phase != engine.Contract && slices.Contains(list, addr) {
		last = addr
	}
	at := slices.Index(list, last) + 1
	turned := slices.Concat(list[at:], list[:at])
	i := slices.IndexFunc(turned, t.free)
	if i < 0 {
		for _, addr := range list {
			if t.dead(t.held[addr]) {
				delete(t.held, addr)
			}
		}
		i = slices.IndexFunc(turned, t.free)
	}
	if i < 0 {
		return netip.Addr{}
	}
	return turned[i]
}

// del is DEL's part, drop GC's.
func del(att record.Attachment) func(*attempt) uint {
	return drop(func(h holding) bool { return h.Attachment == att })
}

func drop(gone func(holding) bool) func(*attempt) uint {
	return func(t *attempt) uint {
		for addr := range t.held {
			t.held.without(addr, gone)
		}
		return 0
	}
}
