package ipam_test

import (
	"math/big"
	"net/netip"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

// sets parses the range sets of a configuration.
func sets(t *testing.T, fields string) []record.RangeSet {
	t.Helper()
	cfg, err := ipam.ParseConfig([]byte(conf(fields)), "")
	if err != nil {
		t.Fatal(err)
	}
	return cfg.RangeSets
}

func power(exp uint, minus int64) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(1), exp)
	return n.Sub(n, big.NewInt(minus))
}

func TestSizeIsWhatASetGivesOut(t *testing.T) {
	for name, c := range map[string]struct {
		fields string
		want   *big.Int
	}{
		"a subnet, without network, broadcast and gateway":     {net24, big.NewInt(253)},
		"the only address of a /30":                            {net30, big.NewInt(1)},
		"both addresses of a /31":                              {`"subnet":"10.0.0.0/31"`, big.NewInt(2)},
		"a /32":                                                {`"subnet":"10.0.0.7/32"`, big.NewInt(1)},
		"a range without a gateway in it":                      {`"subnet":"10.0.0.0/24","rangeStart":"10.0.0.10","rangeEnd":"10.0.0.19"`, big.NewInt(10)},
		"what is not excluded, overlapping exclusions at once": {`"subnet":"10.0.0.0/24","exclude":["10.0.0.128/25","10.0.0.192/26","10.0.0.2"]`, big.NewInt(125)},
		"nothing, where all is excluded":                       {`"subnet":"10.0.0.0/24","exclude":["10.0.0.0/16"]`, big.NewInt(0)},
		"the ranges of a set together":                         {`"ranges":[[{"subnet":"10.0.0.0/24"},{"subnet":"10.0.1.0/24"}]]`, big.NewInt(506)},
		"an IPv6 subnet":                                       {`"subnet":"fd00::/64"`, power(64, 2)},
		"all of IPv6":                                          {`"subnet":"::/0"`, power(128, 2)},
		"all of IPv4":                                          {`"subnet":"0.0.0.0/0"`, power(32, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			u := newNode(t.TempDir()).plugin().Usage(1, sets(t, c.fields), nil, nil)
			if got := u.Sets[0].Size; got.Cmp(c.want) != 0 {
				t.Errorf("size = %s, want %s", got, c.want)
			}
			if got := u.Sets[0].Free(); got.Cmp(c.want) != 0 {
				t.Errorf("free = %s, want %s", got, c.want)
			}
		})
	}
}

func TestUsageCountsAsAnADDWould(t *testing.T) {
	const boot = 3
	n := newNode(t.TempDir())
	n.spaces["/ns/alive"] = 7
	alive := record.NetNS{Path: "/ns/alive", Inode: 7, MountNS: 1}
	gone := record.NetNS{Path: "/ns/gone", Inode: 8, MountNS: 1}
	at := func(addr string, epoch uint64, ns ...record.NetNS) record.Allocation {
		a := record.Allocation{Addr: netip.MustParseAddr(addr), Epoch: epoch}
		for _, s := range ns {
			a.Holders = append(a.Holders, record.Holder{NetNS: s})
		}
		return a
	}
	u := n.plugin().Usage(boot, sets(t, `"ranges":[[{"subnet":"10.0.0.0/24","exclude":["10.0.0.9"]}],[{"subnet":"fd00::/64"}]]`), []record.Allocation{
		at("10.0.0.1", boot, alive),       // now the gateway
		at("10.0.0.2", boot, alive),       //
		at("10.0.0.3", boot, gone),        //
		at("10.0.0.4", boot, gone, alive), // one of two holders lives
		at("10.0.0.5", boot-1, gone),      // before the reboot
		at("10.0.0.6", boot-1, alive),     // before the reboot, but alive
		at("10.0.0.7", 0, record.NetNS{}), // written by hand
		at("10.0.0.9", boot, alive),       // now excluded
		at("10.1.0.2", boot, gone),        // in no range
		at("fd00::2", boot, alive),        //
	}, []netip.Addr{
		netip.MustParseAddr("10.0.0.200"), // set aside
		netip.MustParseAddr("10.0.0.2"),   // set aside, but held
		netip.MustParseAddr("10.0.0.9"),   // and excluded, so it was never counted
	})
	if u.Held != 9 || u.PreviousBoot != 1 {
		t.Errorf("held = %d, previous boot = %d, want 9 and 1", u.Held, u.PreviousBoot)
	}
	if s := u.Sets[0]; s.Held != 5 || s.Gone != 1 || s.Free().Int64() != 246 {
		t.Errorf("IPv4: held = %d, gone = %d, free = %s, want 5, 1 and 246", s.Held, s.Gone, s.Free())
	}
	if s := u.Sets[1]; s.Held != 1 || s.Gone != 0 {
		t.Errorf("IPv6: held = %d, gone = %d, want 1 and 0", s.Held, s.Gone)
	}
	wantAddrs(t, "outside", u.Outside, "10.0.0.1", "10.0.0.9", "10.1.0.2")
	wantAddrs(t, "gone", u.Gone, "10.0.0.3", "10.1.0.2")
}

func wantAddrs(t *testing.T, what string, got []record.Allocation, want ...string) {
	t.Helper()
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i].Addr.String() == want[i]
	}
	if !same {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func TestUsageWithoutRangesTakesNothingForOutside(t *testing.T) {
	u := newNode(t.TempDir()).plugin().Usage(1, nil, []record.Allocation{{
		Addr: netip.MustParseAddr("10.0.0.2"), Epoch: 1, Holders: []record.Holder{{}},
	}}, nil)
	if u.Held != 1 || len(u.Outside) != 0 {
		t.Errorf("held = %d, outside = %v", u.Held, u.Outside)
	}
}

func TestExhaustedAgreesWithSTATUS(t *testing.T) {
	n := newNode(t.TempDir())
	n.spaces["/ns/a"] = 1
	status := func() bool {
		call := n.call("", conf(net30))
		err := n.plugin().Status(call)
		if err != nil && ipam.CodeOf(err) != ipam.CodeUnavailable {
			t.Fatal(err)
		}
		return err != nil
	}
	compare := func(when string, want bool) {
		t.Helper()
		var u ipam.Usage
		err := n.plugin().Open(nil).View("n", func(r ipam.Reader) error {
			var all []record.Allocation
			_ = r.Each(func(a record.Allocation) error { all = append(all, a); return nil })
			u = n.plugin().Usage(r.Epoch(), sets(t, net30), all, nil)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Sets[0].Exhausted(); got != want || status() != want {
			t.Errorf("%s: exhausted = %t, STATUS fails = %t, want %t", when, got, status(), want)
		}
	}
	compare("empty", false)
	if _, err := n.add("a", conf(net30)); err != nil {
		t.Fatal(err)
	}
	compare("held", true)
	delete(n.spaces, "/ns/a")
	compare("its namespace gone", false)
	n.spaces["/ns/a"] = 1
	n.boot++
	compare("after a reboot, its namespace alive", true)
	n.spaces["/ns/a"] = 2
	compare("after a reboot", false)
}

func TestPercentIsRoundedDown(t *testing.T) {
	for _, c := range []struct {
		held int
		size int64
		want int
	}{{0, 253, 0}, {1, 253, 0}, {227, 253, 89}, {228, 253, 90}, {252, 253, 99}, {253, 253, 100}, {0, 0, 100}} {
		s := ipam.SetUsage{Size: big.NewInt(c.size), Held: c.held}
		if got := s.Percent(); got != c.want {
			t.Errorf("%d of %d = %d%%, want %d%%", c.held, c.size, got, c.want)
		}
	}
}

func TestWholeSubnet(t *testing.T) {
	for fields, want := range map[string]bool{
		net24:                    true,
		`"subnet":"fd00::/64"`:   true,
		`"subnet":"10.0.0.0/31"`: true,
		`"subnet":"10.0.0.0/24","rangeStart":"10.0.0.2"`:                         false,
		`"subnet":"10.0.0.0/24","rangeEnd":"10.0.0.99"`:                          false,
		`"subnet":"10.0.0.0/24","rangeStart":"10.0.0.0","rangeEnd":"10.0.0.255"`: true,
	} {
		if got := ipam.WholeSubnet(sets(t, fields)[0][0]); got != want {
			t.Errorf("%s: %t, want %t", fields, got, want)
		}
	}
}
