package ipam

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

// prevResult reads the configuration's prevResult; nil where it has none.
func prevResult(stdin []byte) (types.Result, error) {
	var conf types.PluginConf
	if err := json.Unmarshal(stdin, &conf); err != nil {
		return nil, Errorf(CodeDecode, "decoding the configuration: %v", err)
	}
	if conf.RawPrevResult == nil {
		return nil, nil
	}
	// The library's conversions follow each entry, and JSON knows a key in any case.
	for list, value := range conf.RawPrevResult {
		followed := slices.ContainsFunc([]string{"ips", "interfaces", "routes"}, func(key string) bool { return strings.EqualFold(key, list) })
		entries, _ := value.([]any)
		if followed && slices.Contains(entries, nil) {
			return nil, Errorf(CodeDecode, "prevResult.%s has an entry that is null", list)
		}
	}
	if err := version.ParsePrevResult(&conf); err != nil {
		return nil, Errorf(CodeDecode, "decoding prevResult: %v", err)
	}
	return conf.PrevResult, nil
}

// prevAddresses lists the addresses of prevResult, and tells whether there is
// one.
func prevAddresses(stdin []byte) ([]netip.Addr, bool, error) {
	prev, err := prevResult(stdin)
	if err != nil || prev == nil {
		return nil, false, err
	}
	result, err := current.NewResultFromResult(prev)
	if err != nil {
		return nil, false, Errorf(CodeDecode, "converting prevResult: %v", err)
	}
	var addrs []netip.Addr
	for _, ip := range result.IPs {
		if addr, ok := netip.AddrFromSlice(ip.Address.IP); ok {
			addrs = append(addrs, addr.Unmap())
		}
	}
	return addrs, true, nil
}

// passThrough is the chained role's ADD.
func passThrough(stdin []byte, cfg *Config) (types.Result, error) {
	prev, err := prevResult(stdin)
	if err != nil {
		return nil, err
	}
	if prev == nil {
		return nil, Errorf(CodeConfig,
			"network %s: type bolt-local stands in a plugin list behind the main plugin and needs its prevResult; to allocate, name bolt-local as ipam.type of the main plugin", cfg.Network)
	}
	return prev.GetAsVersion(cfg.CNIVersion)
}
