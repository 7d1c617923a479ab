package damage

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// conf is what a call's configuration has beside what the network's always has.
type conf struct {
	requested netip.Addr
	prev      netip.Addr           // of prevResult
	valid     *[]record.Attachment // of GC
}

// json is what the plugin gets on stdin.
func (n *node) json(network string, c conf) []byte {
	doc := map[string]any{"cniVersion": "1.1.0", "name": network, "type": "bridge", "ipam": map[string]any{
		"type":         "bolt-local",
		"dataDir":      n.dataDir,
		"cniCacheDirs": []string{n.cacheDir},
		"ranges": [][]map[string]any{{{
			"subnet":     n.subnets[network],
			"rangeStart": n.address(network, 0),
			"rangeEnd":   n.address(network, n.room[network]-1),
		}}},
	}}
	if c.requested.IsValid() {
		doc["args"] = map[string]any{"cni": map[string]any{"ips": []netip.Addr{c.requested}}}
	}
	if c.prev.IsValid() {
		doc["prevResult"] = map[string]any{"cniVersion": "1.1.0", "ips": []any{map[string]any{"address": c.prev.String() + "/16"}}}
	}
	if c.valid != nil {
		list := make([]map[string]string, len(*c.valid))
		for i, att := range *c.valid {
			list[i] = map[string]string{"containerID": att.ContainerID, "ifname": att.IfName}
		}
		doc["cni.dev/valid-attachments"] = list
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // of strings and maps alone
	}
	return b
}

func (n *node) call(network string, att record.Attachment, c conf) ipam.Call {
	return ipam.Call{ContainerID: att.ContainerID, IfName: att.IfName, NetNS: n.spaces.path(att.ContainerID), Stdin: n.json(network, c)}
}

func (n *node) add(network string, att record.Attachment, c conf) (netip.Addr, error) {
	result, err := n.plugin().Add(n.call(network, att, c))
	if err != nil {
		return netip.Addr{}, err
	}
	return onlyAddress(result)
}

// onlyAddress is that of a result.
func onlyAddress(r types.Result) (netip.Addr, error) {
	result, err := current.GetResult(r)
	if err != nil {
		return netip.Addr{}, err
	}
	if len(result.IPs) != 1 {
		return netip.Addr{}, fmt.Errorf("%d addresses in the result", len(result.IPs))
	}
	addr, _ := netip.AddrFromSlice(result.IPs[0].Address.IP)
	return addr.Unmap(), nil
}

func (n *node) del(network string, att record.Attachment) error {
	return n.plugin().Del(n.call(network, att, conf{}))
}

func (n *node) check(network string, att record.Attachment, addr netip.Addr) error {
	return n.plugin().Check(n.call(network, att, conf{prev: addr}))
}

func (n *node) status(network string) error {
	return n.plugin().Status(n.call(network, record.Attachment{}, conf{}))
}

func (n *node) gc(network string, keep []record.Attachment) error {
	return n.plugin().GC(n.call(network, record.Attachment{}, conf{valid: &keep}))
}

func (n *node) view(network string) (holdings, error) {
	cfg, err := ipam.ParseConfig(n.json(network, conf{}), "")
	if err != nil {
		return nil, err
	}
	held := holdings{}
	err = n.state(cfg).View(network, func(r ipam.Reader) error {
		return r.Each(func(a record.Allocation) error {
			held[a.Addr] = a.Holders[0].Attachment
			return nil
		})
	})
	return held, err
}

func (n *node) dump() (int, error) {
	count := 0
	err := n.store().ReadAny(true, func(tx *store.Tx) error {
		for _, network := range tx.Networks() {
			_ = tx.Network(network).EachReadable(func(record.Allocation, error) error {
				count++
				return nil
			})
		}
		return nil
	})
	return count, err
}

func (n *node) repair(r store.Repair) (store.Report, error) {
	return n.state(nil).Repair(r, []string{n.cacheDir})
}
