package ipam

import (
	"net/netip"
	"time"

	"github.com/bolt-local/bolt-local/internal/cmdline"
	"github.com/bolt-local/bolt-local/store/record"
)

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

// deadIn lists the allocations in a pool whose namespaces are certainly gone.
func (p *Plugin) deadIn(r Reader, from pool) ([]record.Allocation, error) {
	var dead []record.Allocation
	err := r.Each(func(alloc record.Allocation) error {
		if from.gives(alloc.Addr) && p.dead(alloc) {
			dead = append(dead, alloc)
		}
		return nil
	})
	return dead, err
}

// exhausted says that a pool has no address to give, and how many are held.
func (p *Plugin) exhausted(code uint, r Reader, cfg *Config, from pool) error {
	held := 0
	err := r.Each(func(alloc record.Allocation) error {
		if from.gives(alloc.Addr) {
			held++
		}
		return nil
	})
	if err != nil {
		return err
	}
	why := ""
	if unsure := p.Namespaces.Unsure(); unsure != nil {
		why = "; " + unsure.Error()
	}
	return Errorf(code, "%w: %s of network %s: %d held; see `%s`%s",
		ErrExhausted, short(from.set.String()), cfg.Network, held, cmdline.Command(cfg.DataDir, "dump", "--network", cmdline.Word(cfg.Network)), why)
}

// short cuts a list of ranges for a message.
func short(text string) string {
	const longest = 300
	if len(text) <= longest {
		return text
	}
	return text[:longest] + "…"
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
