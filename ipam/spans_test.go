package ipam

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

func rangeOf(subnet, start, end string, exclude ...string) record.Range {
	r := record.Range{Subnet: netip.MustParsePrefix(subnet), Start: netip.MustParseAddr(start), End: netip.MustParseAddr(end)}
	for _, e := range exclude {
		r.Exclude = append(r.Exclude, netip.MustParsePrefix(e))
	}
	return r
}

func text(list []span) string {
	s := ""
	for _, x := range list {
		s += fmt.Sprintf("%d:%s-%s ", x.rng, x.lo, x.hi)
	}
	return s
}

func TestSpans(t *testing.T) {
	const last = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
	for name, c := range map[string]struct {
		set      record.RangeSet
		gateways []string
		want     string
	}{
		"a plain range":           {record.RangeSet{rangeOf("10.0.0.0/24", "10.0.0.1", "10.0.0.9")}, nil, "0:10.0.0.1-10.0.0.9 "},
		"a gateway at the start":  {record.RangeSet{rangeOf("10.0.0.0/24", "10.0.0.1", "10.0.0.9")}, []string{"10.0.0.1"}, "0:10.0.0.2-10.0.0.9 "},
		"at the end":              {record.RangeSet{rangeOf("10.0.0.0/24", "10.0.0.1", "10.0.0.9")}, []string{"10.0.0.9"}, "0:10.0.0.1-10.0.0.8 "},
		"of another range":        {record.RangeSet{rangeOf("10.0.0.0/24", "10.0.0.1", "10.0.0.9")}, []string{"10.0.0.5", "10.0.1.1"}, "0:10.0.0.1-10.0.0.4 0:10.0.0.6-10.0.0.9 "},
		"of another family":       {record.RangeSet{rangeOf("10.0.0.0/24", "10.0.0.1", "10.0.0.9")}, []string{"fd00::1"}, "0:10.0.0.1-10.0.0.9 "},
		"inside an exclusion":     {record.RangeSet{rangeOf("10.0.0.0/24", "10.0.0.1", "10.0.0.9", "10.0.0.4/30")}, []string{"10.0.0.5"}, "0:10.0.0.1-10.0.0.3 0:10.0.0.8-10.0.0.9 "},
		"an exclusion around":     {record.RangeSet{rangeOf("10.0.0.0/24", "10.0.0.1", "10.0.0.9", "10.0.0.0/8")}, nil, ""},
		"over the start":          {record.RangeSet{rangeOf("10.0.0.0/24", "10.0.0.5", "10.0.0.9", "10.0.0.4/30")}, nil, "0:10.0.0.8-10.0.0.9 "},
		"exclusions side by side": {record.RangeSet{rangeOf("10.0.0.0/24", "10.0.0.1", "10.0.0.9", "10.0.0.2/31", "10.0.0.4/32")}, nil, "0:10.0.0.1-10.0.0.1 0:10.0.0.5-10.0.0.9 "},
		"nothing but the gateway": {record.RangeSet{rangeOf("10.0.0.0/24", "10.0.0.1", "10.0.0.1")}, []string{"10.0.0.1"}, ""},
		"the end of all IPv4":     {record.RangeSet{rangeOf("0.0.0.0/0", "255.255.255.250", "255.255.255.255", "255.255.255.252/30")}, nil, "0:255.255.255.250-255.255.255.251 "},
		"the end of all IPv6":     {record.RangeSet{rangeOf("::/0", "::1", last, "8000::/1")}, []string{"::1"}, "0:::2-7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "},
		"two ranges": {record.RangeSet{rangeOf("10.0.0.0/24", "10.0.0.1", "10.0.0.2"), rangeOf("10.0.0.0/24", "10.0.0.8", "10.0.0.9")},
			[]string{"10.0.0.1", "10.0.0.9"}, "0:10.0.0.2-10.0.0.2 1:10.0.0.8-10.0.0.8 "},
	} {
		t.Run(name, func(t *testing.T) {
			var gws []netip.Addr
			for _, g := range c.gateways {
				gws = append(gws, netip.MustParseAddr(g))
			}
			if got := text(spans(c.set, gws)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAfterBeginsBehindTheLastAddressAndEndsWithIt(t *testing.T) {
	set := record.RangeSet{rangeOf("10.0.0.0/24", "10.0.0.2", "10.0.0.9", "10.0.0.4/31"), rangeOf("10.0.1.0/24", "10.0.1.2", "10.0.1.3")}
	list := spans(set, nil)
	for last, want := range map[string]string{
		"10.0.0.2": "0:10.0.0.3-10.0.0.3 0:10.0.0.6-10.0.0.9 1:10.0.1.2-10.0.1.3 0:10.0.0.2-10.0.0.2 ",
		"10.0.0.3": "0:10.0.0.6-10.0.0.9 1:10.0.1.2-10.0.1.3 0:10.0.0.2-10.0.0.3 ",
		"10.0.0.4": "0:10.0.0.6-10.0.0.9 1:10.0.1.2-10.0.1.3 0:10.0.0.2-10.0.0.3 ", // excluded today
		"10.0.0.9": "1:10.0.1.2-10.0.1.3 0:10.0.0.2-10.0.0.3 0:10.0.0.6-10.0.0.9 ",
		"10.0.1.3": "0:10.0.0.2-10.0.0.3 0:10.0.0.6-10.0.0.9 1:10.0.1.2-10.0.1.3 ",
		"10.0.1.4": text(list), // in no range today
		"fd00::1":  text(list),
	} {
		if got := text(after(list, set, netip.MustParseAddr(last))); got != want {
			t.Errorf("after %s:\n got %s\nwant %s", last, got, want)
		}
	}
	if got := text(after(list, set, netip.Addr{})); got != text(list) {
		t.Errorf("at first: %s", got)
	}
}

// A set of thousands of ranges, each with its gateway and exclusions, must not
// cost the square of that under the lock.
func TestSpansOfManyRanges(t *testing.T) {
	var set record.RangeSet
	for i := range 20000 {
		base := netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 0})
		r := record.Range{Subnet: netip.PrefixFrom(base, 24), Start: base.Next(), End: lastAddr(netip.PrefixFrom(base, 24)).Prev(), Gateway: base.Next()}
		r.Exclude = []netip.Prefix{netip.PrefixFrom(base.Next().Next(), 32)}
		set = append(set, r)
	}
	all := pools([]record.RangeSet{set})
	if got := len(all[0].list); got != 20000 {
		t.Errorf("%d spans, want 20000", got)
	}
	if got, want := addressCount(all[0].list).Int64(), int64(20000*252); got != want {
		t.Errorf("%d addresses, want %d", got, want)
	}
}

func TestAPoolGivesWhatItsSpansHold(t *testing.T) {
	set := record.RangeSet{rangeOf("10.0.1.0/24", "10.0.1.2", "10.0.1.3"), rangeOf("10.0.0.0/24", "10.0.0.2", "10.0.0.9", "10.0.0.4/31")}
	p := pools([]record.RangeSet{set})[0]
	for a := netip.MustParseAddr("10.0.0.0"); a != netip.MustParseAddr("10.0.1.9"); a = a.Next() {
		want := false
		for _, s := range p.list {
			want = want || (!a.Less(s.lo) && !s.hi.Less(a))
		}
		if got := p.gives(a); got != want {
			t.Errorf("%s: %t, want %t", a, got, want)
		}
	}
	if p.gives(netip.MustParseAddr("fd00::1")) || p.gives(netip.Addr{}) {
		t.Error("it gives what is of no family of its own")
	}
}
