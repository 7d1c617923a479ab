package ipam

import (
	"errors"
	"net/netip"

	"github.com/bolt-local/bolt-local/store/record"
)

// Del frees what the attachment holds, of any epoch, whatever the
// configuration says now. Absent is success, and so is what no ADD can have
// been given. In the chained role it does nothing: it runs before the main
// plugin's DEL and must never block that.
func (p *Plugin) Del(call Call) error {
	cfg := ParseLenient(call.Stdin)
	p.warnAll(cfg.Warnings)
	if cfg.Role == Chained {
		return nil
	}
	if err := CheckAttachment(call.attachment()); err != nil || cfg.Network == "" {
		if err != nil {
			p.Warn(err.Error())
		}
		p.warnf("DEL of container %s, ifname %s: no ADD is answered under such a name, so nothing was freed", quoted(call.ContainerID), quoted(call.IfName))
		return nil
	}
	prev, _, err := prevAddresses(call.Stdin)
	if err != nil {
		p.warnf("DEL goes on without it: %v", err)
	}
	state := p.Open(cfg)
	d := Deletion{Attachment: call.attachment(), Addrs: prev, Gone: p.Namespaces.Identify(call.NetNS).Inode == 0}
	kept := 0
	var missing error
	err = state.Update(VerbDel, cfg.Network, func(tx Tx) error {
		d := d
		d.Ascribed = func() []netip.Addr { return state.Ascribed(cfg.Network, d.Attachment) }
		freed := 0
		missing = tx.Whole()
		if freed, kept, err = d.Run(tx); err == nil && freed == 0 {
			err = missing
		}
		return err
	})
	if deferrable(err) {
		return p.deferDel(state, cfg.Network, d, err)
	}
	if err == nil && missing != nil {
		// A repair may find again what this has freed, or more of it: a backup is
		// older. The DEL is to come after that, too.
		if err := state.Defer(cfg.Network, d); err != nil {
			p.warnf("a later repair may bring back what this DEL has freed: %v", err)
		}
	}
	if err == nil && kept > 0 {
		p.warnf("network %s: the interfaces of container %s are not known, and it holds %d of the addresses; what is that of %s cannot be told while the namespace %s is there: nothing was freed, until GC, a DEL without a namespace, or a reboot",
			cfg.Network, call.ContainerID, kept, call.IfName, call.NetNS)
	}
	return err
}

// deferrable: the state cannot be written, and no call of a runtime changes
// that. A pod must not be stuck in its deletion for it.
func deferrable(err error) bool {
	code := CodeOf(err)
	return err != nil && (code == CodeDamaged || code == CodeForeignFormat || errors.Is(err, ErrNoSpace))
}

// deferDel leaves the DEL that failed with why for a later call.
func (p *Plugin) deferDel(state State, network string, d Deletion, why error) error {
	if err := state.Defer(network, d); err != nil {
		return Errorf(CodeOf(why), "%w; %w", why, err)
	}
	p.warnf("the DEL of container %s, ifname %s waits for the next call that can write: %v", d.Attachment.ContainerID, d.Attachment.IfName, why)
	return nil
}

// Deletion is what a DEL frees.
type Deletion struct {
	Attachment record.Attachment
	// Addrs are those that the call names in prevResult.
	Addrs []netip.Addr
	// Ascribed, if set, returns those that another witness ascribes to the
	// attachment.
	Ascribed func() []netip.Addr
	// Gone: the container's namespace is not there any more, or not named.
	Gone bool
	// Keeps, if set, tells of an address that stays although the attachment
	// holds it.
	Keeps func(netip.Addr) bool
}

// Run frees in a transaction. kept is how many addresses stay because nobody
// knows whose they are.
func (d Deletion) Run(tx Tx) (freed, kept int, err error) {
	exact, err := tx.HeldBy(d.Attachment)
	if err != nil {
		return 0, 0, err
	}
	unknown, err := tx.HeldBy(unnamed(d.Attachment))
	if err != nil {
		return 0, 0, err
	}
	mine := ascribed(unknown, d.Addrs, d.Ascribed)
	if len(exact)+len(mine) == 0 && d.Gone {
		mine = unknown // the container is gone, and all of its interfaces
	}
	for _, part := range []struct {
		held []record.Allocation
		att  record.Attachment
	}{{exact, d.Attachment}, {mine, unnamed(d.Attachment)}} {
		for _, a := range part.held {
			if d.Keeps != nil && d.Keeps(a.Addr) {
				continue
			}
			// Another part may have freed the other holder of the same address.
			now, _, err := tx.Get(a.Addr)
			if err != nil {
				return 0, 0, err
			}
			if err := release(tx, now, func(h record.Holder) bool { return h.Attachment == part.att }); err != nil {
				return 0, 0, err
			}
		}
	}
	if freed = len(exact) + len(mine); freed > 0 {
		return freed, 0, nil
	}
	return 0, len(unknown), nil
}
