package migrate

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
)

// Defer implements [ipam.State].
func (s State) Defer(network string, d ipam.Deletion) error {
	return s.cniError(s.Store.Defer(store.Deferred{Network: network, Attachment: d.Attachment, Addrs: d.Addrs, Gone: d.Gone}))
}

// carryOut does the DELs of a network that had to wait. What somebody else has
// given the same attachment since is not theirs.
func (s State) carryOut(n *store.Network, tx ipam.Tx, changed func(netip.Addr) time.Time) error {
	due, err := n.Deferred()
	if err != nil {
		return err
	}
	for _, d := range due {
		del := ipam.Deletion{
			Attachment: d.Attachment,
			Addrs:      d.Addrs,
			Gone:       d.Gone,
			Keeps:      func(addr netip.Addr) bool { return changed(addr).After(d.At) },
		}
		if _, _, err := del.Run(tx); err != nil {
			return err
		}
		if err := n.MarkDone(d); err != nil {
			return err
		}
		s.Warn(fmt.Sprintf("network %s: the DEL of container %s, ifname %s, which had to wait, was carried out", n.Name(), d.ContainerID, d.IfName))
	}
	return nil
}
