package network

import (
	"net/netip"
	"slices"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

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

// expectAddresses checks what a pod was given.
func expectAddresses(t *testing.T, p *pod, want ...string) {
	t.Helper()
	var got []string
	for _, ip := range p.result.IPs {
		got = append(got, ip.Address.String())
	}
	if !slices.Equal(got, want) {
		t.Fatalf("pod %s has addresses %v, want %v", p.ContainerID, got, want)
	}
}

// expectPing checks that packets go from each of two pods to the other, in
// each family.
func expectPing(t *testing.T, a, b *pod) {
	t.Helper()
	as, bs := addresses(t, a.result), addresses(t, b.result)
	for i := range as {
		for _, way := range []struct {
			from     *lab.Namespace
			src, dst netip.Addr
		}{
			{a.ns, as[i], bs[i]},
			{b.ns, bs[i], as[i]},
		} {
			if took, err := lab.Ping(way.from, way.src, way.dst); err != nil {
				t.Error(err)
			} else {
				t.Logf("%s answered %s in %v", way.dst, way.src, took)
			}
		}
	}
}

// expectHeld checks which addresses are allocated in the network, and by
// whom: each pod holds what its result says, and nobody else holds any.
func (n *node) expectHeld(t *testing.T, network string, pods ...*pod) {
	t.Helper()
	type holding struct {
		ip              netip.Addr
		id, ifname, dir string
	}
	want := map[holding]bool{}
	for _, p := range pods {
		for _, a := range addresses(t, p.result) {
			want[holding{a, p.ContainerID, p.IfName, p.NetNS}] = true
		}
	}
	for _, a := range testenv.Dump(t, n.dataDir).Allocations(network) {
		h := holding{a.IP, a.ContainerID, a.IfName, a.NetNS}
		if !want[h] {
			t.Errorf("network %s: unexpected allocation %+v", network, a)
		}
		delete(want, h)
	}
	for h := range want {
		t.Errorf("network %s: %s of %s is not in dump", network, h.ip, h.id)
	}
}
