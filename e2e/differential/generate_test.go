package differential

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

// versions are those of the CNI spec; "" means 0.1.0.
var versions = []string{"", "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"}

// newVersions are those with CHECK; the last has GC.
var newVersions = []string{"0.4.0", "1.0.0", "1.1.0"}

// generator makes random configurations that both plugins take.
type generator struct {
	*rand.Rand
	blocks int // address blocks used so far; ranges of two blocks never overlap

	// sets are the range sets in the order in which both plugins allocate.
	sets [][]span
}

// span is one range as the generator means it, both ends included.
type span struct {
	first, last, gateway netip.Addr
}

// size is the number of addresses of a span, at most 256.
func (s span) size() int { return int(lastByte(s.last)) - int(lastByte(s.first)) + 1 }

func lastByte(a netip.Addr) byte {
	b := a.AsSlice()
	return b[len(b)-1]
}

// withLastByte is a with another last byte.
func withLastByte(a netip.Addr, last int) netip.Addr {
	b := a.AsSlice()
	b[len(b)-1] = byte(last)
	out, _ := netip.AddrFromSlice(b)
	return out
}

// oneIn is true once in n times.
func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

// config makes a configuration. Files that it names are in dir.
func (g *generator) config(t *testing.T, dir string) config {
	t.Helper()
	c := config{version: g.version(), ipam: object{}}
	// Up to 0.2.0 a result holds one address of each family.
	onePerFamily := c.version < "0.3.0"

	var sets [][]addressRange
	families := []bool{g.oneIn(3)} // whether each set is IPv6
	switch {
	case onePerFamily && g.oneIn(2):
		families = append(families, !families[0])
	case !onePerFamily:
		for range g.IntN(3) {
			families = append(families, g.oneIn(2))
		}
	}
	for _, v6 := range families {
		sets = append(sets, g.rangeSet(v6))
	}
	g.place(&c, sets)

	if g.oneIn(2) {
		c.ipam["routes"] = g.routes()
	}
	if g.oneIn(4) {
		c.ipam["resolvConf"] = g.resolvConf(t, dir)
	}
	return c
}

// version is a new one more often than not.
func (g *generator) version() string {
	if g.oneIn(2) {
		return newVersions[g.IntN(len(newVersions))]
	}
	return versions[g.IntN(len(versions))]
}

// place puts the range sets where a configuration can have them: ipRanges
// come first, then the old style, then ranges.
func (g *generator) place(c *config, sets [][]addressRange) {
	if g.oneIn(5) {
		n := 1 + g.IntN(len(sets))
		c.ipRanges, sets = sets[:n], sets[n:]
	}
	if len(sets) > 0 && len(sets[0]) == 1 && g.oneIn(3) {
		old := sets[0][0]
		for key, value := range map[string]string{
			"subnet": old.Subnet, "rangeStart": old.RangeStart,
			"rangeEnd": old.RangeEnd, "gateway": old.Gateway,
		} {
			if value != "" {
				c.ipam[key] = value
			}
		}
		sets = sets[1:]
	}
	if len(sets) > 0 {
		c.ipam["ranges"] = sets
	}
}

// rangeSet makes a set of one to three ranges.
func (g *generator) rangeSet(v6 bool) []addressRange {
	var out []addressRange
	var spans []span
	for range 1 + g.IntN(3)*g.IntN(2) {
		ranges, s := g.subnet(v6)
		out, spans = append(out, ranges...), append(spans, s...)
	}
	g.sets = append(g.sets, spans)
	return out
}

// subnet makes one range of a subnet, or two that share it. Small ones run
// full soon.
func (g *generator) subnet(v6 bool) ([]addressRange, []span) {
	g.blocks++
	bits := 27 + g.IntN(4) // /27 to /30
	size := 1 << (32 - bits)
	offset := size * g.IntN(256/size)
	text := fmt.Sprintf("10.%d.%d.%d", g.IntN(2), g.blocks, offset)
	if v6 {
		bits += 96
		text = fmt.Sprintf("fd00:%x::%x", g.blocks, offset)
		if g.oneIn(3) {
			bits, offset, text = 64, 0, fmt.Sprintf("fd00:%x::", g.blocks)
			size = 16 // as far as this range goes
		}
	}
	network := netip.MustParseAddr(text)
	first, last := offset+1, offset+size-2
	if v6 {
		last++ // there is no broadcast address
	}
	s := span{withLastByte(network, first), withLastByte(network, last), withLastByte(network, first)}
	r := addressRange{Subnet: fmt.Sprintf("%s/%d", network, bits)}
	if g.oneIn(3) {
		s.gateway = withLastByte(network, first+g.IntN(last-first+1))
		r.Gateway = s.gateway.String()
	}
	if bits == 64 {
		r.RangeEnd = s.last.String()
	}
	if v6 && g.oneIn(6) {
		s.first = network
		r.RangeStart = s.first.String()
	}
	if g.oneIn(4) && last-first > 2 {
		return g.split(r, s)
	}
	g.narrow(&r, &s)
	return []addressRange{r}, []span{s}
}

// narrow may give the range a start and an end.
func (g *generator) narrow(r *addressRange, s *span) {
	if g.oneIn(3) {
		s.first = withLastByte(s.first, int(lastByte(s.first))+g.IntN(s.size()))
		r.RangeStart = s.first.String()
	}
	if g.oneIn(3) {
		s.last = withLastByte(s.last, int(lastByte(s.last))-g.IntN(s.size()))
		r.RangeEnd = s.last.String()
	}
}

// split makes two ranges of one. They have the same gateway; what happens if
// not is one of the listed differences.
func (g *generator) split(r addressRange, s span) ([]addressRange, []span) {
	r1, r2, s1, s2 := r, r, s, s
	cut := int(lastByte(s.first)) + g.IntN(s.size()-1)
	s1.last, s2.first = withLastByte(s.first, cut), withLastByte(s.first, cut+1)
	r1.RangeEnd, r2.RangeStart = s1.last.String(), s2.first.String()
	return []addressRange{r1, r2}, []span{s1, s2}
}

// newRouteKeys came with spec 1.1.0.
var newRouteKeys = []string{"mtu", "advmss", "priority", "table", "scope"}

func (g *generator) routes() []object {
	all := []object{
		{"dst": "0.0.0.0/0"},
		{"dst": "192.168.0.0/16", "gw": "10.0.0.1"},
		{"dst": "::/0"},
		{"dst": "2001:db8::/64", "gw": "fd00::1"},
	}
	var out []object
	for _, i := range g.Perm(len(all))[:1+g.IntN(len(all))] {
		if g.oneIn(3) {
			all[i][newRouteKeys[g.IntN(len(newRouteKeys))]] = 1 + g.IntN(200)
		}
		out = append(out, all[i])
	}
	return out
}

func (g *generator) resolvConf(t *testing.T, dir string) string {
	t.Helper()
	text := "# a comment\nnameserver 192.0.2.3\n"
	for _, line := range []string{
		"nameserver 2001:db8::53\n", "domain example.org\n",
		"search a.example b.example\n", "search c.example\n", "options ndots:2 rotate\n",
	} {
		if g.oneIn(2) {
			text += line
		}
	}
	path := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
