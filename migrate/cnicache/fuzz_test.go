package cnicache

import (
	"slices"
	"testing"

	"github.com/containernetworking/cni/pkg/utils"
)

// FuzzEntry: whatever a file says, it is left out, or read as an entry with the
// key that is in its name, and addresses unmapped and none twice; the same entry
// is found by that key.
func FuzzEntry(f *testing.F) {
	for name, content := range map[string]string{
		"podnet-3f1c-eth0": v1("podnet", "3f1c", "eth0", bridge110, `,"netns":"/n","cniArgs":[["K8S_POD_NAME","web-0"],null,["x"]]`),
		"podnet-1-x-eth0":  bareOf("::ffff:10.0.0.2/120", "eth0", "x-eth0"),
		"podnet-2-eth0":    old020,
		"podnet-3-lo":      v1("podnet", "3", "lo", noFields, ""),
		"podnet-4-eth0":    `{"interfaces":[null,{}],"ips":[null,{"address":null}],"ip4":{"ip":"10.0.0.2/24"}}`,
	} {
		f.Add("podnet", name, []byte(content))
	}
	f.Fuzz(func(t *testing.T, network, name string, data []byte) {
		d, err := parse(data)
		if err != nil {
			return
		}
		e, found, err := d.named(network, name)
		if !found {
			return
		}
		if err != nil {
			t.Fatalf("both %+v and %v", e, err)
		}
		if fileName(network, e.Attachment) != name {
			t.Fatalf("%+v from the file %q of network %q", e.Attachment, name, network)
		}
		if id, ifName := utils.ValidateContainerID(e.ContainerID), utils.ValidateInterfaceName(e.IfName); id != nil || ifName != nil {
			t.Fatalf("the key %+v: %v, %v", e.Attachment, id, ifName)
		}
		if e.IfName == loopback {
			t.Fatalf("an entry of %s", loopback)
		}
		for i, addr := range e.Addrs {
			if !addr.IsValid() || addr != addr.Unmap() || addr.Zone() != "" || slices.Contains(e.Addrs[:i], addr) {
				t.Fatalf("address %d of %v", i, e.Addrs)
			}
		}
		again, found, err := d.of(network, e.Attachment)
		if !found || err != nil || diff(e, again) != "" {
			t.Fatalf("by its key: found %v, error %v\n%s", found, err, diff(e, again))
		}
	})
}
