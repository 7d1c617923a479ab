package ipam

import (
	"net/netip"

	"github.com/bolt-local/bolt-local/store/record"
)

// Del frees what the attachment holds, of any epoch, whatever the
// configuration says now. Absent is success. In the chained role it does
// nothing: it runs before the main plugin's DEL and must never block that.
func (p *Plugin) Del(call Call) error {
	cfg := ParseLenient(call.Stdin)
	p.warnAll(cfg.Warnings)
	if cfg.Role == Chained {
		return nil
	}
	prev, _, err := prevAddresses(call.Stdin)
	if err != nil {
		p.warnf("DEL goes on without it: %v", err)
	}
	state := p.Open(cfg)
	kept := 0
	err = state.Update(VerbDel, cfg.Network, func(tx Tx) error {
		kept, err = p.del(state, tx, cfg.Network, call, prev)
		return err
	})
	if err == nil && kept > 0 {
		p.warnf("network %s: the interfaces of container %s are not known, and it holds %d of the addresses; what is that of %s cannot be told while the namespace %s is there: nothing was freed, until GC, a DEL without a namespace, or a reboot",
			cfg.Network, call.ContainerID, kept, call.IfName, call.NetNS)
	}
	return err
}

// del frees in one transaction. kept is how many addresses stay because nobody
// knows whose they are.
func (p *Plugin) del(state State, tx Tx, network string, call Call, prev []netip.Addr) (kept int, err error) {
	att := call.attachment()
	exact, err := tx.HeldBy(att)
	if err != nil {
		return 0, err
	}
	unknown, err := tx.HeldBy(unnamed(att))
	if err != nil {
		return 0, err
	}
	mine := ascribed(state, network, att, unknown, prev)
	if len(exact)+len(mine) == 0 && p.Namespaces.Identify(call.NetNS).Inode == 0 {
		mine = unknown // the container is gone, and all of its interfaces
	}
	for _, part := range []struct {
		held []record.Allocation
		att  record.Attachment
	}{{exact, att}, {mine, unnamed(att)}} {
		for _, a := range part.held {
			// Another part may have freed the other holder of the same address.
			now, _, err := tx.Get(a.Addr)
			if err != nil {
				return 0, err
			}
			if err := release(tx, now, func(h record.Holder) bool { return h.Attachment == part.att }); err != nil {
				return 0, err
			}
		}
	}
	if len(exact)+len(mine) > 0 {
		return 0, nil
	}
	return len(unknown), nil
}
