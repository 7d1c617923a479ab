package differential

import (
	"encoding/json"

	"github.com/containernetworking/cni/pkg/types"
)

// object is a JSON object.
type object = map[string]any

// networkName is the network of all tests: each has its own data directory.
const networkName = "diff"

// addressRange is a range as the configuration shows it; "" is absent.
type addressRange struct {
	Subnet     string `json:"subnet"`
	RangeStart string `json:"rangeStart,omitempty"`
	RangeEnd   string `json:"rangeEnd,omitempty"`
	Gateway    string `json:"gateway,omitempty"`
}

// config is one network configuration, without what names the plugin.
type config struct {
	version  string // "" is absent
	ipam     object // all but type and dataDir
	ipRanges [][]addressRange
}

// request is what one call adds to the configuration.
type request struct {
	argsIPs    []string // args.cni.ips
	runtimeIPs []string // runtimeConfig.ips
	prevResult json.RawMessage
	valid      []types.GCAttachment // cni.dev/valid-attachments; nil is absent
}

// json is what a plugin reads. extra is added to ipam.
func (c config) json(r request, extra object) []byte {
	conf := object{"name": networkName, "type": "bridge"}
	if c.version != "" {
		conf["cniVersion"] = c.version
	}
	ipam := object{}
	for _, o := range []object{c.ipam, extra} {
		for key, value := range o {
			ipam[key] = value
		}
	}
	conf["ipam"] = ipam
	runtimeConfig := object{}
	if c.ipRanges != nil {
		runtimeConfig["ipRanges"] = c.ipRanges
	}
	if r.runtimeIPs != nil {
		runtimeConfig["ips"] = r.runtimeIPs
	}
	if len(runtimeConfig) > 0 {
		conf["runtimeConfig"] = runtimeConfig
	}
	if r.argsIPs != nil {
		conf["args"] = object{"cni": object{"ips": r.argsIPs}}
	}
	if r.prevResult != nil {
		conf["prevResult"] = r.prevResult
	}
	if r.valid != nil {
		conf["cni.dev/valid-attachments"] = r.valid
	}
	data, err := json.Marshal(conf)
	if err != nil {
		panic(err) // of strings, lists and JSON only
	}
	return data
}
