package model

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/bolt-local/bolt-local/store/record"
)

// holdings is who holds what.
type holdings map[netip.Addr]allocation

// allocation is one address with those who hold it.
type allocation struct {
	epoch   uint64
	holders []holding
}

// holding is one holder's part in an address.
type holding struct {
	record.Attachment
	theirs bool // as far as is known, host-local gave it
	netns  record.NetNS
	mark   string // the identity of the file that is known to name it
}

func (h holdings) clone() holdings {
	c := holdings{}
	for addr, a := range h {
		a.holders = slices.Clone(a.holders)
		c[addr] = a
	}
	return c
}

// of lists the addresses of an attachment in order.
func (h holdings) of(att record.Attachment) []netip.Addr {
	var list []netip.Addr
	for addr, a := range h {
		if a.heldBy(att) {
			list = append(list, addr)
		}
	}
	slices.SortFunc(list, netip.Addr.Compare)
	return list
}

func (a allocation) heldBy(att record.Attachment) bool {
	return slices.ContainsFunc(a.holders, func(h holding) bool { return h.Attachment == att })
}

// without drops holders; an address that loses the last one is free.
func (h holdings) without(addr netip.Addr, drop func(holding) bool) {
	a := h[addr]
	a.holders = slices.DeleteFunc(slices.Clone(a.holders), drop)
	h[addr] = a
	if len(a.holders) == 0 {
		delete(h, addr)
	}
}

// attachments are who holds what, for comparing and for people.
func (h holdings) attachments() string {
	return h.text(func(_ allocation, one holding) string { return one.ContainerID + "/" + one.IfName })
}

// details is everything but the marks.
func (h holdings) details() string {
	return h.text(func(a allocation, one holding) string {
		return fmt.Sprintf("%s/%s epoch %d theirs %v ns %d", one.ContainerID, one.IfName, a.epoch, one.theirs, one.netns.Inode)
	})
}

func (h holdings) text(of func(allocation, holding) string) string {
	var lines []string
	for _, addr := range slices.SortedFunc(maps.Keys(h), netip.Addr.Compare) {
		var names []string
		for _, one := range h[addr].holders {
			names = append(names, of(h[addr], one))
		}
		slices.Sort(names)
		lines = append(lines, fmt.Sprintf("%s: %s", addr, strings.Join(names, " and ")))
	}
	return strings.Join(lines, "\n")
}

// shared lists the addresses that more than one attachment holds.
func (h holdings) shared() []netip.Addr {
	var list []netip.Addr
	for addr, a := range h {
		if len(a.holders) > 1 {
			list = append(list, addr)
		}
	}
	slices.SortFunc(list, netip.Addr.Compare)
	return list
}

// holders are all attachments that hold something, in order.
func (h holdings) holders() []record.Attachment {
	all := map[record.Attachment]bool{}
	for _, a := range h {
		for _, one := range a.holders {
			all[one.Attachment] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b record.Attachment) int { return strings.Compare(name(a), name(b)) })
}
