package cnicache

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
)

// kindV1 is the only kind of object that libcni has written (libcni/api.go,
// CNICacheV1).
const kindV1 = "cniCacheV1"

// document is what a file says, in either form. It has only the fields that are
// needed: `config`, most of the bytes, stays undecoded.
type document struct {
	Kind        string      `json:"kind"`
	ContainerID string      `json:"containerId"`
	IfName      string      `json:"ifName"`
	NetworkName string      `json:"networkName"`
	NetNS       string      `json:"netns"`
	CNIArgs     [][2]string `json:"cniArgs"`
	// Result is the bare result too, once parse is through.
	Result result `json:"result"`
	bare

	addrs []netip.Addr
}

// bare lies beside the fields of a cniCacheV1: either has names of its own.
type bare = result

// result is the part of a CNI result that is needed, of every version: ips from
// 0.3.0 on, ip4 and ip6 before. A null in a list is an element without a value;
// the types of the CNI library would be nil pointers there.
type result struct {
	CNIVersion string      `json:"cniVersion"`
	Interfaces []netDevice `json:"interfaces"`
	IPs        []struct {
		Address string `json:"address"`
	} `json:"ips"`
	IP4 ipConfig020 `json:"ip4"`
	IP6 ipConfig020 `json:"ip6"`
}

type netDevice struct {
	Name string `json:"name"`
	// Sandbox is the path of its network namespace; "" for one of the host's.
	Sandbox string `json:"sandbox"`
}

type ipConfig020 struct {
	IP string `json:"ip"`
}

// parse reads the content of a file.
func parse(data []byte) (*document, error) {
	if len(data) == 0 {
		return nil, errors.New("it is empty, as a power cut leaves it")
	}
	d := &document{}
	if err := json.Unmarshal(data, d); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return nil, fmt.Errorf("its field %s must not be a %s", wrong.Field, wrong.Value)
		}
		return nil, fmt.Errorf("it is torn or not libcni's: %w", err)
	}
	switch d.Kind {
	case kindV1:
	case "":
		d.Result = d.bare
		if d.Result.CNIVersion == "" && len(d.Result.cidrs()) == 0 {
			return nil, fmt.Errorf("it is neither a CNI result nor of kind %s", kindV1)
		}
	default:
		return nil, fmt.Errorf("it is of kind %q, and only %s is known", d.Kind, kindV1)
	}
	var err error
	d.addrs, err = d.Result.addresses()
	return d, err
}

// isBare tells whether the file is a result alone, so that only its name has
// the key.
func (d *document) isBare() bool { return d.Kind == "" }

// cidrs lists the addresses with their prefix lengths, as they stand there.
func (r *result) cidrs() []string {
	list := make([]string, 0, len(r.IPs)+2)
	for _, ip := range r.IPs {
		list = append(list, ip.Address)
	}
	list = append(list, r.IP4.IP, r.IP6.IP)
	kept := list[:0]
	for _, cidr := range list {
		if cidr != "" {
			kept = append(kept, cidr)
		}
	}
	return kept
}

// addresses lists the addresses, none twice. One that cannot be read fails all:
// part of what was given would pass for the whole.
func (r *result) addresses() ([]netip.Addr, error) {
	cidrs := r.cidrs()
	addrs := make([]netip.Addr, 0, len(cidrs))
	seen := make(map[netip.Addr]bool, len(cidrs))
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			return nil, fmt.Errorf("the address %q of its result: %w", cidr, err)
		}
		addr := prefix.Addr().Unmap()
		if !seen[addr] {
			seen[addr] = true
			addrs = append(addrs, addr)
		}
	}
	return addrs, nil
}
