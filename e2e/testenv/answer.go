package testenv

import (
	"net/netip"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// Address is the only address of an ADD's answer, the zero one of a failure.
func Address(tb testing.TB, reply lab.Reply) netip.Addr {
	tb.Helper()
	addrs := Addresses(tb, reply)
	if len(addrs) == 1 {
		return addrs[0]
	}
	if !reply.Failed() {
		tb.Errorf("the result has addresses %v, want one", addrs)
	}
	return netip.Addr{}
}

// Addresses are those of an ADD's answer, none of a failure.
func Addresses(tb testing.TB, reply lab.Reply) []netip.Addr {
	tb.Helper()
	if reply.Failed() {
		return nil
	}
	result, err := reply.Result()
	if err != nil {
		tb.Error(err)
		return nil
	}
	var addrs []netip.Addr
	for _, ip := range result.IPs {
		a, _ := netip.AddrFromSlice(ip.Address.IP)
		addrs = append(addrs, a.Unmap())
	}
	return addrs
}
