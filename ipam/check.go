package ipam

import (
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// Check holds what is recorded for the attachment against prevResult. It
// writes nothing.
func (p *Plugin) Check(call Call) error {
	cfg := ParseLenient(call.Stdin)
	p.warnAll(cfg.Warnings)
	if err := CheckAttachment(call.attachment()); err != nil {
		return Errorf(CodeNothingAllocated, "nothing is recorded under such a name: %w", err)
	}
	if cfg.Network == "" {
		return Errorf(CodeNothingAllocated, "nothing is recorded for container %s, ifname %s: no network has the name of this one", call.ContainerID, call.IfName)
	}
	prev, given, err := prevAddresses(call.Stdin)
	if err != nil {
		return err
	}
	if !given && cfg.Role == Chained {
		return Errorf(CodeConfig, "CHECK in network %s needs prevResult", cfg.Network)
	}
	state := p.Open(cfg)
	return state.View(cfg.Network, func(r Reader) error {
		held, err := r.HeldBy(call.attachment())
		if err != nil {
			return err
		}
		unknown, err := r.HeldBy(unnamed(call.attachment()))
		if err != nil {
			return err
		}
		held = append(held, ascribed(unknown, prev, func() []netip.Addr { return state.Ascribed(cfg.Network, call.attachment()) })...)
		held = slices.DeleteFunc(held, func(a record.Allocation) bool { return p.Stale(r.Epoch(), a) })
		if len(held) == 0 {
			return Errorf(CodeNothingAllocated, "no address is recorded for container %s, ifname %s in network %s", call.ContainerID, call.IfName, cfg.Network)
		}
		if !given {
			return nil // host-local's CHECK asks no more
		}
		return compare(cfg, held, prev)
	})
}

// compare asks that every recorded address is in prevResult, and, where the
// plugin gave the addresses itself, that every address of prevResult in the
// configured ranges is recorded.
func compare(cfg *Config, held []record.Allocation, prev []netip.Addr) error {
	for _, a := range held {
		if !slices.Contains(prev, a.Addr) {
			return Errorf(CodeCheckMismatch, "%s is recorded for %s in network %s, but it is not in prevResult", a.Addr, describe(a), cfg.Network)
		}
	}
	for _, addr := range prev {
		recorded := slices.ContainsFunc(held, func(a record.Allocation) bool { return a.Addr == addr })
		if !recorded && record.InSets(cfg.RangeSets, addr) {
			return Errorf(CodeCheckMismatch, "%s of prevResult is not recorded for the attachment in network %s", addr, cfg.Network)
		}
	}
	return nil
}
