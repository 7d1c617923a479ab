package backfill

import (
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// A sandbox that is not ready may run nonetheless: containerd shows one so whose
// state it could not load. Nothing is claimed for it, as its address may be
// another's; but while allocations may be missing, one of them may be its own.

// Unrecorded lists those of the ids that hold nothing in the networks.
func Unrecorded(networks []Network, ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(networks, func(n Network) bool { return n.Holders[id] })
	})
}

// UnreadyCached finds a living attachment of one of the ids to which a cache ascribes
// an address that the checkpoint does not.
func UnreadyCached(networks []Network, notReady []string) (record.Holder, bool) {
	for _, n := range networks {
		for _, c := range n.Cached {
			id := c.Holder.ContainerID
			missing := func(addr netip.Addr) bool { return n.gives(addr) && !n.held(addr, id) }
			if c.Alive && slices.Contains(notReady, id) && slices.ContainsFunc(c.Addrs, missing) {
				return c.Holder, true
			}
		}
	}
	return record.Holder{}, false
}

// held tells whether the checkpoint has addr for a container, if only as a guess.
func (n Network) held(addr netip.Addr, containerID string) bool {
	a, held := n.Stored(addr)
	return held && slices.ContainsFunc(a.Holders, func(h record.Holder) bool { return h.ContainerID == containerID })
}
