package ipam

import (
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// Old versions of host-local record no ifname. Such a holder is a full one, but
// of which attachment of its container is known only to a witness: prevResult,
// or libcni's cache.

// unnamed is the attachment under which holders of a container stand whose
// ifname is not known.
func unnamed(att record.Attachment) record.Attachment {
	return record.Attachment{ContainerID: att.ContainerID}
}

// ascribed returns those of held, all without an ifname, whose addresses a
// witness ascribes to the attachment: prev, or the cache, which is nil where it is
// not to be asked.
func ascribed(held []record.Allocation, prev []netip.Addr, cache func() []netip.Addr) []record.Allocation {
	if len(held) == 0 {
		return nil
	}
	if cache != nil {
		prev = slices.Concat(prev, cache())
	}
	return slices.DeleteFunc(slices.Clone(held), func(a record.Allocation) bool { return !slices.Contains(prev, a.Addr) })
}

// rename gives the container's holder that has no ifname that of the attachment.
func rename(tx Tx, a record.Allocation, att record.Attachment) error {
	a.Holders = slices.Clone(a.Holders)
	for i, h := range a.Holders {
		if h.Attachment == unnamed(att) {
			h.Attachment = att
			a.Holders[i] = h.Knowing(record.UnknownIfName)
		}
	}
	return tx.Put(a)
}
