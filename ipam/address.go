package ipam

import (
	"net/netip"
	"strconv"
	"strings"
)

// tiny tells whether a prefix has at most two addresses, both of which are
// given out (RFC 3021 for IPv4, RFC 6164 for IPv6).
func tiny(p netip.Prefix) bool { return p.Bits() >= p.Addr().BitLen()-1 }

// lastAddr returns the address of p with all host bits set.
func lastAddr(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for bit := p.Bits(); bit < p.Addr().BitLen(); bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// family names the family of a for a message.
func family(a netip.Addr) string {
	if a.Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// parseAddr parses a single address. One that maps an IPv4 address into IPv6 is
// that IPv4 address.
func parseAddr(f textAt) (netip.Addr, error) {
	a, err := netip.ParseAddr(f.text)
	if err != nil {
		return netip.Addr{}, invalid(f, "is not an IP address")
	}
	if a.Zone() != "" {
		return netip.Addr{}, invalid(f, "has a zone; write %s", a.WithZone(""))
	}
	return a.Unmap(), nil
}

// parsePrefix parses a prefix without host bits.
func parsePrefix(f textAt) (netip.Prefix, error) {
	left, right, ok := strings.Cut(f.text, "/")
	a, err := netip.ParseAddr(left)
	if !ok || err != nil {
		return netip.Prefix{}, invalid(f, "is not an address and a prefix length such as 10.1.0.0/16")
	}
	if a.Zone() != "" {
		return netip.Prefix{}, invalid(f, "has a zone; write %s/%s", a.WithZone(""), right)
	}
	// As host-local does, this reads 10.0.0.0/08, which netip refuses.
	bits, err := strconv.ParseUint(right, 10, 8)
	if err != nil || int(bits) > a.BitLen() {
		return netip.Prefix{}, invalid(f, "has no prefix length from 0 to %d", a.BitLen())
	}
	if a.Is4In6() {
		return netip.Prefix{}, mapped(f, a, int(bits))
	}
	p := netip.PrefixFrom(a, int(bits))
	if p != p.Masked() {
		return netip.Prefix{}, invalid(f, "has host bits set; the network address is %s", p.Masked())
	}
	return p, nil
}

// mapped is the error for an IPv4 prefix in the clothes of IPv6.
func mapped(f textAt, a netip.Addr, bits int) error {
	const mapping = 128 - 32
	if bits < mapping {
		return invalid(f, "is an IPv4-mapped IPv6 address; write IPv4")
	}
	return invalid(f, "is an IPv4-mapped IPv6 prefix; write %s", netip.PrefixFrom(a.Unmap(), bits-mapping).Masked())
}
