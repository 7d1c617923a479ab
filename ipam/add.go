package ipam

import (
	"net"
	"net/netip"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/store/record"
)

// Add allocates one address from each range set and returns the result in the
// configuration's version. In the chained role it passes prevResult through.
func (p *Plugin) Add(call Call) (types.Result, error) {
	cfg, err := ParseConfig(call.Stdin, call.Args)
	if err != nil {
		return nil, err
	}
	p.warnAll(cfg.Warnings)
	if cfg.Role == Chained {
		return passThrough(call.Stdin, cfg)
	}
	result := &current.Result{CNIVersion: current.ImplementedSpecVersion, Routes: routesFor(cfg)}
	if cfg.ResolvConf != "" {
		if result.DNS, err = parseResolvConf(cfg.ResolvConf); err != nil {
			return nil, err
		}
	}
	if err := CheckAttachment(call.attachment()); err != nil {
		return nil, err
	}
	ns := p.Namespaces.Identify(call.NetNS)
	if !call.NetNSOverride && p.Namespaces.IsOwn(ns) {
		return nil, Errorf(CodeNetNS, "CNI_NETNS %s is the plugin's own network namespace: nothing was allocated", call.NetNS)
	}
	wanted, err := assignRequested(cfg.RangeSets, cfg.Requested)
	if err != nil {
		return nil, err
	}
	from := pools(cfg.RangeSets) // before the lock: there may be thousands of ranges
	var granted []grant
	var notes []string
	state := p.Open(cfg)
	err = state.Update(VerbAdd, cfg.Network, func(tx Tx) error {
		// Between the lock and the first write: whoever waited for us may have
		// been killed meanwhile, and its DEL may have come before this.
		if p.Orphaned() {
			return Errorf(CodeCallerGone, "the calling process has died: nothing was allocated for container %s, ifname %s", call.ContainerID, call.IfName)
		}
		a := allocator{
			plugin: p, state: state, tx: tx, cfg: cfg, pools: from, wanted: wanted,
			holder: record.Holder{
				Attachment:  call.attachment(),
				Origin:      record.OriginAdd,
				AllocatedAt: p.Now(),
				BootTime:    p.BootTime(),
				NetNS:       ns,
				Pod:         cfg.Pod,
			},
		}
		err := a.run()
		granted, notes = a.granted, a.notes
		return err
	})
	if err != nil {
		return nil, err
	}
	p.warnAll(notes)
	for _, g := range granted {
		result.IPs = append(result.IPs, g.ipConfig())
	}
	return result.GetAsVersion(cfg.CNIVersion)
}

// grant is an address that the attachment holds after the ADD.
type grant struct {
	addr netip.Addr
	rng  record.Range
}

func (g grant) ipConfig() *current.IPConfig {
	c := &current.IPConfig{Address: net.IPNet{
		IP:   g.addr.AsSlice(),
		Mask: net.CIDRMask(g.rng.Subnet.Bits(), g.rng.Subnet.Addr().BitLen()),
	}}
	if g.rng.Gateway.IsValid() {
		c.Gateway = g.rng.Gateway.AsSlice()
	}
	return c
}
