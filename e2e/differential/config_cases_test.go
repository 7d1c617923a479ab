package differential

import "testing"

// configCase is a configuration, and what the first ADD under it does.
type configCase struct {
	name      string
	version   string // "" is 1.1.0
	ipam      string
	want      string
	boltLocal string // if it differs
	reason    string
}

// TestConfigurationsOfHostLocal has the configurations that host-local
// v1.10.0 tests, and some at their edges.
func TestConfigurationsOfHostLocal(t *testing.T) {
	var scenarios []scenario
	for _, c := range configCases {
		s := scenario{name: c.name, ipam: c.ipam, reason: c.reason}
		if c.version != "" {
			s.versions = []string{c.version}
		}
		s.actions = []action{add("dummy", c.want).but(c.boltLocal)}
		scenarios = append(scenarios, s)
	}
	runScenarios(t, scenarios)
}

var configCases = []configCase{
	{name: "a clean IPv4 prefix", ipam: `{"subnet": "192.0.2.0/24"}`, want: "192.0.2.2/24"},
	{name: "a smaller IPv4 subnet", ipam: `{"subnet": "192.0.2.0/25"}`, want: "192.0.2.2/25"},
	{name: "a clean IPv6 prefix", ipam: `{"subnet": "2001:DB8:1::/64"}`, want: "2001:db8:1::2/64"},
	{name: "a gateway inside the subnet", ipam: `{"subnet": "10.0.0.0/24", "gateway": "10.0.0.2"}`, want: "10.0.0.1/24"},
	{
		name: "a gateway outside the subnet", ipam: `{"subnet": "10.0.0.0/24", "gateway": "192.168.1.1"}`,
		want: refused, boltLocal: "10.0.0.1/24",
		reason: "point-to-point links have their gateway elsewhere",
	},
	{name: "a gateway of the other family", ipam: `{"subnet": "10.0.0.0/24", "gateway": "2001:db8::1"}`, want: refused},
	{name: "an IPv4 subnet with host bits", ipam: `{"subnet": "192.0.2.12/24"}`, want: refused},
	{name: "an IPv6 subnet with host bits", ipam: `{"subnet": "2001:db8:1::1/64"}`, want: refused},
	{name: "an IPv6 /63 with host bits", ipam: `{"subnet": "2001:db8:24:19ff::/63"}`, want: refused},
	{name: "an IPv4 /23 with host bits", ipam: `{"subnet": "192.168.127.0/23"}`, want: refused},
	{name: "rangeStart outside the subnet", ipam: `{"subnet": "192.0.2.0/24", "rangeStart": "192.0.3.0"}`, want: refused},
	{name: "rangeEnd outside the subnet", ipam: `{"subnet": "192.0.2.0/24", "rangeEnd": "192.0.4.0"}`, want: refused},
	{name: "rangeStart after rangeEnd", ipam: `{"subnet": "192.0.2.0/24", "rangeStart": "192.0.2.50", "rangeEnd": "192.0.2.40"}`, want: refused},
	{name: "rangeStart after the default end", ipam: `{"subnet": "192.0.2.0/24", "rangeStart": "192.0.2.255"}`, want: refused},
	{name: "rangeStart at the top of the family", ipam: `{"subnet": "255.255.255.252/30", "rangeStart": "255.255.255.255"}`, want: refused},
	{
		name: "start, end and gateway", want: "192.0.2.40/24",
		ipam: `{"subnet": "192.0.2.0/24", "rangeStart": "192.0.2.40", "rangeEnd": "192.0.2.50", "gateway": "192.0.2.254"}`,
	},
	{
		name: "a set and the old style together", want: "10.1.2.10/24 10.2.0.2/24",
		ipam: `{"subnet": "10.1.2.0/24", "rangeStart": "10.1.2.10", "rangeEnd": "10.1.2.20", "gateway": "10.1.2.30",
			"ranges": [[{"subnet": "10.2.0.0/24"}]]}`,
	},
	{name: "range sets that overlap", ipam: `{"ranges": [[{"subnet": "10.1.0.0/22"}], [{"subnet": "10.1.2.0/24"}]]}`, want: refused},
	{name: "ranges of a set that overlap", ipam: `{"ranges": [[{"subnet": "10.1.0.0/22"}, {"subnet": "10.1.2.0/24"}]]}`, want: refused},
	{name: "two families in a set", ipam: `{"ranges": [[{"subnet": "10.1.0.0/22"}, {"subnet": "2001:db8:5::/64"}]]}`, want: refused},
	{name: "two IPv4 sets in version 0.2.0", version: "0.2.0", ipam: `{"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.2.0.0/24"}]]}`, want: refused},
	{name: "one set of each family in version 0.2.0", version: "0.2.0", want: "10.1.0.2/24 2001:db8:1::2/64",
		ipam: `{"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "2001:db8:1::/64"}]]}`},
	{name: "adjacent ranges of one subnet", want: "10.0.0.2/24",
		ipam: `{"ranges": [[{"subnet": "10.0.0.0/24", "rangeEnd": "10.0.0.127"}, {"subnet": "10.0.0.0/24", "rangeStart": "10.0.0.128"}]]}`},
	{name: "an empty range set", ipam: `{"ranges": [[]]}`, want: refused},
	{name: "no ranges", ipam: `{}`, want: refused},
	{name: "a subnet that is none", ipam: `{"subnet": "junk"}`, want: refused},
	{name: "an IPv4-mapped subnet", ipam: `{"subnet": "::ffff:10.0.0.0/120"}`, want: refused},
	{name: "a resolvConf that is not there", ipam: `{"subnet": "10.0.0.0/24", "resolvConf": "/nowhere/resolv.conf"}`, want: refused},
	{name: "the whole of IPv6", ipam: `{"subnet": "::/0"}`, want: "::2/0"},
	{name: "an unknown field", ipam: `{"subnet": "10.0.0.0/24", "colour": "blue"}`, want: "10.0.0.2/24"},
	{name: "keys in another case", ipam: `{"SUBNET": "10.0.0.0/24", "RangeStart": "10.0.0.9"}`, want: "10.0.0.9/24"},
	{
		name: "an IPv4 /31", ipam: `{"subnet": "10.0.0.0/31"}`, want: refused, boltLocal: "10.0.0.0/31",
		reason: "both ends of a point-to-point link are addresses (RFC 3021)",
	},
	{
		name: "an IPv4 /32", ipam: `{"subnet": "10.0.0.7/32"}`, want: refused, boltLocal: "10.0.0.7/32",
		reason: "a single address is a range too",
	},
	{
		name: "an IPv6 /127", ipam: `{"subnet": "2001:db8::/127"}`, want: refused, boltLocal: "2001:db8::/127",
		reason: "both ends of a point-to-point link are addresses (RFC 6164)",
	},
	{
		name: "an IPv6 /128", ipam: `{"subnet": "2001:db8::7/128"}`, want: refused, boltLocal: "2001:db8::7/128",
		reason: "a single address is a range too",
	},
	{
		name: "rangeStart at the network address", ipam: `{"subnet": "10.0.0.0/29", "rangeStart": "10.0.0.0"}`,
		want: "10.0.0.0/29", boltLocal: "10.0.0.2/29",
		reason: "no host can use the network address; the start is moved inwards",
	},
	{
		name: "a range of the broadcast address alone", want: "10.0.0.7/29", boltLocal: refused,
		ipam:   `{"subnet": "10.0.0.0/29", "rangeStart": "10.0.0.7", "rangeEnd": "10.0.0.7"}`,
		reason: "no host can use the broadcast address; the range is empty",
	},
	{
		name: "a field twice, in different case", ipam: `{"Subnet": "10.9.0.0/24", "subnet": "10.0.0.0/24"}`,
		want: "10.0.0.2/24", boltLocal: refused,
		reason: "nobody can know which one was meant",
	},
	{
		name: "an empty subnet beside ranges", ipam: `{"subnet": "", "ranges": [[{"subnet": "10.0.0.0/24"}]]}`,
		want: refused, boltLocal: "10.0.0.2/24",
		reason: "an empty field is an absent one",
	},
}
