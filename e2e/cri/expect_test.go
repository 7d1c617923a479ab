package cri

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// ifname is what containerd calls a pod's interface.
const ifname = "eth0"

// sameAddresses is how package cmp compares them.
var sameAddresses = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func attachment(ip netip.Addr, containerID, ifname string) string {
	return fmt.Sprintf("%s of %s %s", ip, containerID, ifname)
}

// expectHeld checks that the network's pods hold what the runtime says, each
// address in this boot, and that nobody else holds any.
func expectHeld(t *testing.T, pods ...*pod) {
	t.Helper()
	var want []string
	for _, p := range pods {
		for _, addr := range p.addrs {
			want = append(want, attachment(addr, p.id, ifname))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, held(t)); diff != "" {
		t.Errorf("allocations of %s (-want +got):\n%s", network, diff)
	}
}

// held are the allocations of this boot.
func held(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, a := range testenv.Dump(t, dataDir).Allocations(network) {
		if a.State == "active" {
			all = append(all, attachment(a.IP, a.ContainerID, a.IfName))
		}
	}
	slices.Sort(all)
	return all
}

// expectAddresses checks what a pod was given.
func expectAddresses(t *testing.T, p *pod, want ...string) {
	t.Helper()
	var got []string
	for _, addr := range p.addrs {
		got = append(got, addr.String())
	}
	if !slices.Equal(got, want) {
		t.Fatalf("pod %s has addresses %v, want %v", p.name, got, want)
	}
}

// expectPing checks that packets go from each of two pods to the other, in each
// family.
func expectPing(t *testing.T, a, b *pod) {
	t.Helper()
	for i := range a.addrs {
		for _, way := range []struct {
			from     *lab.Namespace
			src, dst netip.Addr
		}{
			{a.ns, a.addrs[i], b.addrs[i]},
			{b.ns, b.addrs[i], a.addrs[i]},
		} {
			if _, err := lab.Ping(way.from, way.src, way.dst); err != nil {
				t.Error(err)
			}
		}
	}
}

// addresses are those of a result, without their prefix lengths.
func addresses(t *testing.T, result *current.Result) []netip.Addr {
	t.Helper()
	var out []netip.Addr
	for _, ip := range result.IPs {
		a, ok := netip.AddrFromSlice(ip.Address.IP)
		if !ok {
			t.Fatalf("no address: %v", ip.Address)
		}
		out = append(out, a.Unmap())
	}
	return out
}
