package cri

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/migrate/backfill"
)

// told is what the verbose information of a sandbox tells.
type told struct {
	netns      string
	interfaces []backfill.Interface
}

// infoKey is where containerd and CRI-O put one JSON document for all.
const infoKey = "info"

// loopback has no address of ours.
const loopback = "lo"

// info has the parts of that document which are read: containerd's cniResult
// (go-cni's result by interface) and sandboxMetadata (containerd 2), and the
// runtime's specification, in whose annotations CRI-O keeps the CNI result.
type info struct {
	CNIResult struct {
		Interfaces map[string]struct {
			IPConfigs []struct{ IP string }
			Sandbox   string
		}
	} `json:"cniResult"`
	SandboxMetadata struct {
		Metadata struct{ NetNSPath string }
	} `json:"sandboxMetadata"`
	RuntimeSpec struct {
		Annotations map[string]string `json:"annotations"`
		Linux       struct {
			Namespaces []struct {
				Type string `json:"type"`
				Path string `json:"path"`
			} `json:"namespaces"`
		} `json:"linux"`
	} `json:"runtimeSpec"`
}

// crioResult is CRI-O's annotation.
const crioResult = "io.kubernetes.cri-o.CNIResult"

// parseInfo reads what it can.
func parseInfo(verbose map[string]string) told {
	var doc info
	// A part that has another type is left out, and the rest is read.
	_ = json.Unmarshal([]byte(verbose[infoKey]), &doc)
	t := told{netns: doc.SandboxMetadata.Metadata.NetNSPath}
	for _, ns := range doc.RuntimeSpec.Linux.Namespaces {
		if ns.Type == "network" && t.netns == "" {
			t.netns = ns.Path
		}
	}
	t.containerd(doc)
	t.crio(doc.RuntimeSpec.Annotations[crioResult])
	return t
}

// containerd reads go-cni's result. The host's ends of the pairs, which are in no
// sandbox, have no address; where a plugin says otherwise, the interface is not
// known.
func (t *told) containerd(doc info) {
	sandboxed := false
	for _, i := range doc.CNIResult.Interfaces {
		sandboxed = sandboxed || i.Sandbox != ""
	}
	for _, name := range slices.Sorted(maps.Keys(doc.CNIResult.Interfaces)) {
		i := doc.CNIResult.Interfaces[name]
		var addrs []netip.Addr
		for _, c := range i.IPConfigs {
			if addr, err := netip.ParseAddr(c.IP); err == nil {
				addrs = append(addrs, addr.Unmap())
			}
		}
		if name == loopback || len(addrs) == 0 {
			continue
		}
		if t.netns == "" {
			t.netns = i.Sandbox
		}
		if sandboxed && i.Sandbox == "" {
			name = ""
		}
		for _, addr := range addrs {
			t.add(name, addr)
		}
	}
}

// cniResult is a CNI result (spec 0.3.0 to 1.1.0), whose addresses name their
// interfaces by index.
type cniResult struct {
	Interfaces []struct {
		Name    string `json:"name"`
		Sandbox string `json:"sandbox"`
	} `json:"interfaces"`
	IPs []struct {
		Interface *int   `json:"interface"`
		Address   string `json:"address"`
	} `json:"ips"`
}

// crio reads the annotation. An address without an interface is that of the only
// one in the sandbox.
func (t *told) crio(annotation string) {
	var result cniResult
	if json.Unmarshal([]byte(annotation), &result) != nil {
		return
	}
	var inside []string
	for _, i := range result.Interfaces {
		if i.Sandbox == "" {
			continue
		}
		inside = append(inside, i.Name)
		if t.netns == "" {
			t.netns = i.Sandbox
		}
	}
	for _, ip := range result.IPs {
		prefix, err := netip.ParsePrefix(ip.Address)
		if err != nil {
			continue
		}
		name := ""
		switch i := ip.Interface; {
		case i != nil && *i >= 0 && *i < len(result.Interfaces) && (result.Interfaces[*i].Sandbox != "" || len(inside) == 0):
			name = result.Interfaces[*i].Name
		case len(inside) == 1:
			name = inside[0]
		}
		t.add(name, prefix.Addr().Unmap())
	}
}

// add adds an address to an interface.
func (t *told) add(name string, addr netip.Addr) {
	i := slices.IndexFunc(t.interfaces, func(i backfill.Interface) bool { return i.Name == name })
	if i < 0 {
		t.interfaces = append(t.interfaces, backfill.Interface{Name: name})
		i = len(t.interfaces) - 1
	}
	if !slices.Contains(t.interfaces[i].Addrs, addr) {
		t.interfaces[i].Addrs = append(t.interfaces[i].Addrs, addr)
	}
}
