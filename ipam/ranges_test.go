package ipam

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

// describeRange writes a range as "subnet start-end via gateway without a,b".
func describeRange(r record.Range) string {
	s := fmt.Sprintf("%s %s", r.Subnet, r)
	if r.Gateway.IsValid() {
		s += " via " + r.Gateway.String()
	}
	for i, p := range r.Exclude {
		s += map[bool]string{true: " without ", false: ","}[i == 0] + p.String()
	}
	return s
}

func describeSets(sets []record.RangeSet) string {
	var lines []string
	for _, set := range sets {
		var parts []string
		for _, r := range set {
			parts = append(parts, describeRange(r))
		}
		lines = append(lines, strings.Join(parts, " | "))
	}
	return strings.Join(lines, "\n")
}

// delegate returns a configuration of the delegate role around the members of
// an ipam object, and top, members of the configuration itself.
func delegate(ipamMembers string, top ...string) []byte {
	members := append([]string{`"cniVersion":"1.0.0","name":"podnet","type":"bridge"`}, top...)
	members = append(members, `"ipam":{"type":"bolt-local",`+ipamMembers+`}`)
	return []byte("{" + strings.Join(members, ",") + "}")
}

// wantError fails unless err has the code and all of the texts.
func wantError(t *testing.T, err error, code uint, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want code %d saying %q", code, texts)
	}
	if got := CodeOf(err); got != code {
		t.Errorf("code %d, want %d: %v", got, code, err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is missing in: %v", text, err)
		}
	}
}

func TestARangeIsFilledInToItsCanonicalForm(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
	}{
		// host-local's range_test.go.
		{"defaults of an IPv4 subnet", `"subnet":"192.0.2.0/24"`, "192.0.2.0/24 192.0.2.1-192.0.2.254 via 192.0.2.1"},
		{"defaults of a smaller IPv4 subnet", `"subnet":"192.0.2.0/25"`, "192.0.2.0/25 192.0.2.1-192.0.2.126 via 192.0.2.1"},
		{"defaults of an IPv6 subnet", `"subnet":"2001:DB8:1::/64"`,
			"2001:db8:1::/64 2001:db8:1::1-2001:db8:1:0:ffff:ffff:ffff:ffff via 2001:db8:1::1"},
		{"all fields are kept", `"subnet":"192.0.2.0/24","rangeStart":"192.0.2.40","rangeEnd":"192.0.2.50","gateway":"192.0.2.254"`,
			"192.0.2.0/24 192.0.2.40-192.0.2.50 via 192.0.2.254"},
		{"a gateway inside of the subnet", `"subnet":"10.0.0.0/24","gateway":"10.0.0.254"`, "10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.254"},
		// host-local v1.10.0 refuses this one; some providers need it.
		{"a gateway outside of the subnet", `"subnet":"10.0.0.0/24","gateway":"192.168.1.1"`, "10.0.0.0/24 10.0.0.1-10.0.0.254 via 192.168.1.1"},
		// host-local: "too small to allocate from".
		{"both addresses of a /31", `"subnet":"192.0.2.0/31"`, "192.0.2.0/31 192.0.2.0-192.0.2.1"},
		{"the address of a /32", `"subnet":"192.0.2.7/32"`, "192.0.2.7/32 192.0.2.7-192.0.2.7"},
		{"both addresses of a /127", `"subnet":"fd00::/127"`, "fd00::/127 fd00::-fd00::1"},
		{"the address of a /128", `"subnet":"fd00::9/128"`, "fd00::9/128 fd00::9-fd00::9"},

		{"a /31 with a gateway that is named", `"subnet":"192.0.2.0/31","gateway":"192.0.2.0"`, "192.0.2.0/31 192.0.2.0-192.0.2.1 via 192.0.2.0"},
		{"one address of a /31", `"subnet":"192.0.2.0/31","rangeStart":"192.0.2.1"`, "192.0.2.0/31 192.0.2.1-192.0.2.1"},
		{"the last /31", `"subnet":"255.255.255.254/31"`, "255.255.255.254/31 255.255.255.254-255.255.255.255"},
		{"the last /128", `"subnet":"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"`,
			"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"the /30 has two addresses", `"subnet":"192.0.2.0/30"`, "192.0.2.0/30 192.0.2.1-192.0.2.2 via 192.0.2.1"},
		{"the last /30", `"subnet":"255.255.255.252/30"`, "255.255.255.252/30 255.255.255.253-255.255.255.254 via 255.255.255.253"},
		{"a /126 ends with its last address", `"subnet":"fd00::/126"`, "fd00::/126 fd00::1-fd00::3 via fd00::1"},
		{"all of IPv4", `"subnet":"0.0.0.0/0"`, "0.0.0.0/0 0.0.0.1-255.255.255.254 via 0.0.0.1"},
		{"all of IPv6", `"subnet":"::/0"`, "::/0 ::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff via ::1"},
		{"a prefix length between two bytes", `"subnet":"10.1.128.0/19"`, "10.1.128.0/19 10.1.128.1-10.1.159.254 via 10.1.128.1"},
		{"a /33 of IPv6", `"subnet":"fd32:f7ff::/33"`, "fd32:f7ff::/33 fd32:f7ff::1-fd32:f7ff:7fff:ffff:ffff:ffff:ffff:ffff via fd32:f7ff::1"},
		{"a prefix length with a leading zero", `"subnet":"10.0.0.0/08"`, "10.0.0.0/8 10.0.0.1-10.255.255.254 via 10.0.0.1"},

		{"a start at the network address moves up", `"subnet":"10.0.0.0/24","rangeStart":"10.0.0.0"`, "10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.1"},
		{"an end at the broadcast address moves down", `"subnet":"10.0.0.0/24","rangeEnd":"10.0.0.255"`, "10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.1"},
		{"start and end move at once", `"subnet":"10.0.0.0/30","rangeStart":"10.0.0.0","rangeEnd":"10.0.0.3"`, "10.0.0.0/30 10.0.0.1-10.0.0.2 via 10.0.0.1"},
		{"what looks like a broadcast address of a smaller subnet stays", `"subnet":"10.0.0.0/16","rangeStart":"10.0.2.255","rangeEnd":"10.0.3.0"`,
			"10.0.0.0/16 10.0.2.255-10.0.3.0 via 10.0.0.1"},
		{"an IPv6 start at the subnet's own address stays", `"subnet":"fd00::/64","rangeStart":"fd00::","rangeEnd":"fd00::4"`, "fd00::/64 fd00::-fd00::4 via fd00::1"},
		{"a range of one address", `"subnet":"10.0.0.0/24","rangeStart":"10.0.0.9","rangeEnd":"10.0.0.9"`, "10.0.0.0/24 10.0.0.9-10.0.0.9 via 10.0.0.1"},
		{"addresses that map IPv4 into IPv6 are IPv4",
			`"subnet":"10.0.0.0/24","rangeStart":"::ffff:10.0.0.5","rangeEnd":"::ffff:10.0.0.9","gateway":"::ffff:10.0.0.3"`,
			"10.0.0.0/24 10.0.0.5-10.0.0.9 via 10.0.0.3"},
		{"empty strings and null are the same as nothing", `"subnet":"10.0.0.0/24","rangeStart":"","rangeEnd":null,"gateway":"","exclude":null`,
			"10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.1"},
		{"the case of keys does not matter", `"SUBNET":"10.0.0.0/24","RangeStart":"10.0.0.5","rangeend":"10.0.0.9","Gateway":"10.0.0.2"`,
			"10.0.0.0/24 10.0.0.5-10.0.0.9 via 10.0.0.2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, form := range []string{`"ranges":[[{%s}]]`, `%s`} {
				cfg, err := ParseConfig(delegate(fmt.Sprintf(form, tt.in)), "")
				if err != nil {
					t.Fatal(err)
				}
				if got := describeSets(cfg.RangeSets); got != tt.want {
					t.Errorf("as %s:\n got %s\nwant %s", form, got, tt.want)
				}
			}
		})
	}
}

func TestARangeThatCannotBeIsRefusedByItsPath(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		code     uint
		texts    []string
	}{
		// host-local's range_test.go.
		{"IPv4 host bits", `"subnet":"192.0.2.12/24"`, CodeConfig, []string{`.subnet "192.0.2.12/24" has host bits set`, "192.0.2.0/24"}},
		{"IPv6 host bits", `"subnet":"2001:DB8:1::24:19ff:fee1:c44a/64"`, CodeConfig, []string{"host bits set", "2001:db8:1::/64"}},
		{"one IPv6 host bit", `"subnet":"2001:DB8:24:19ff::/63"`, CodeConfig, []string{"host bits set", "2001:db8:24:19fe::/63"}},
		{"one IPv4 host bit", `"subnet":"192.168.127.0/23"`, CodeConfig, []string{"host bits set", "192.168.126.0/23"}},
		{"a start outside of the subnet", `"subnet":"192.0.2.0/24","rangeStart":"192.0.3.0"`, CodeConfig,
			[]string{`.rangeStart "192.0.3.0" is outside of subnet 192.0.2.0/24`}},
		{"an end outside of the subnet", `"subnet":"192.0.2.0/24","rangeEnd":"192.0.4.0"`, CodeConfig,
			[]string{`.rangeEnd "192.0.4.0" is outside of subnet 192.0.2.0/24`}},
		// host-local says that the start is not in the network.
		{"a start after the end", `"subnet":"192.0.2.0/24","rangeStart":"192.0.2.50","rangeEnd":"192.0.2.40"`, CodeConfig,
			[]string{": rangeStart 192.0.2.50 is after rangeEnd 192.0.2.40 in subnet 192.0.2.0/24"}},
		{"a start at the broadcast address", `"subnet":"192.0.2.0/24","rangeStart":"192.0.2.255"`, CodeConfig,
			[]string{`.rangeStart "192.0.2.255" is the broadcast address of 192.0.2.0/24`, "empty"}},
		{"a start at the last address of all", `"subnet":"255.255.255.252/30","rangeStart":"255.255.255.255"`, CodeConfig,
			[]string{`.rangeStart "255.255.255.255" is the broadcast address`}},
		{"a gateway of the other family", `"subnet":"10.0.0.0/24","gateway":"2001:db8::1"`, CodeConfig,
			[]string{`.gateway "2001:db8::1" is IPv6, but subnet 10.0.0.0/24 is IPv4`}},

		{"an IPv4 gateway of an IPv6 subnet", `"subnet":"fd00::/64","gateway":"10.0.0.1"`, CodeConfig, []string{`.gateway "10.0.0.1" is IPv4`}},
		{"an end at the network address", `"subnet":"192.0.2.0/24","rangeEnd":"192.0.2.0"`, CodeConfig,
			[]string{`.rangeEnd "192.0.2.0" is the network address of 192.0.2.0/24`, "empty"}},
		{"an IPv6 end before the default start", `"subnet":"fd00::/64","rangeEnd":"fd00::"`, CodeConfig,
			[]string{"rangeStart fd00::1 is after rangeEnd fd00:: in subnet fd00::/64"}},
		{"a start of the other family", `"subnet":"10.0.0.0/24","rangeStart":"fd00::1"`, CodeConfig, []string{"rangeStart", "outside of subnet"}},
		{"a mapped subnet", `"subnet":"::ffff:10.0.0.0/120"`, CodeConfig, []string{`.subnet "::ffff:10.0.0.0/120" is an IPv4-mapped`, "write 10.0.0.0/24"}},
		{"a mapped subnet shorter than the mapping", `"subnet":"::ffff:0.0.0.0/90"`, CodeConfig, []string{"IPv4-mapped"}},
		{"a subnet with a zone", `"subnet":"fe80::%eth0/64"`, CodeConfig, []string{"zone", "fe80::/64"}},
		{"a start with a zone", `"subnet":"fe80::/64","rangeStart":"fe80::5%eth0"`, CodeConfig, []string{".rangeStart", "zone", "fe80::5"}},
		{"a gateway with a zone", `"subnet":"fe80::/64","gateway":"fe80::1%eth0"`, CodeConfig, []string{".gateway", "zone"}},
		{"a subnet without a length", `"subnet":"10.0.0.0"`, CodeConfig, []string{`.subnet "10.0.0.0" is not an address and a prefix length`}},
		{"a subnet of words", `"subnet":"junk"`, CodeConfig, []string{`.subnet "junk"`}},
		{"a length beyond the family", `"subnet":"10.0.0.0/33"`, CodeConfig, []string{`.subnet "10.0.0.0/33" has no prefix length from 0 to 32`}},
		{"a length beyond a byte", `"subnet":"fd00::/300"`, CodeConfig, []string{"from 0 to 128"}},
		{"a negative length", `"subnet":"10.0.0.0/-1"`, CodeConfig, []string{"from 0 to 32"}},
		{"a signed length", `"subnet":"10.0.0.0/+8"`, CodeConfig, []string{"from 0 to 32"}},
		{"a second slash", `"subnet":"10.0.0.0/8/8"`, CodeConfig, []string{"from 0 to 32"}},
		{"a start that is no address", `"subnet":"10.0.0.0/24","rangeStart":"10.0.0.256"`, CodeConfig, []string{`.rangeStart "10.0.0.256" is not an IP address`}},
		{"an end that is no address", `"subnet":"10.0.0.0/24","rangeEnd":"x"`, CodeConfig, []string{`.rangeEnd "x" is not an IP address`}},
		{"a gateway that is no address", `"subnet":"10.0.0.0/24","gateway":"10.0.0.1/24"`, CodeConfig, []string{`.gateway "10.0.0.1/24" is not an IP address`}},
		{"leading zeros in an address", `"subnet":"10.0.0.0/24","gateway":"10.0.0.01"`, CodeConfig, []string{".gateway"}},

		{"a subnet that is a number", `"subnet":10`, CodeDecode, []string{".subnet must be a string, not the number 10"}},
		{"a start that is a list", `"subnet":"10.0.0.0/24","rangeStart":[]`, CodeDecode, []string{".rangeStart must be a string, not a list"}},
		{"an end that is an object", `"subnet":"10.0.0.0/24","rangeEnd":{}`, CodeDecode, []string{".rangeEnd must be a string, not an object"}},
		{"a gateway that is true", `"subnet":"10.0.0.0/24","gateway":true`, CodeDecode, []string{".gateway must be a string, not true"}},
		{"a field that is given twice", `"subnet":"10.0.0.0/24","Subnet":"10.0.1.0/24"`, CodeConfig, []string{`.subnet is given twice, as "Subnet" and as "subnet"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for form, path := range map[string]string{
				`"ranges":[[{"subnet":"172.16.0.0/16"}],[{%s}]]`: "network podnet: ipam.ranges[1][0]",
				`%s`: "network podnet: ipam",
			} {
				_, err := ParseConfig(delegate(fmt.Sprintf(form, tt.in)), "")
				wantError(t, err, tt.code, append([]string{path}, tt.texts...)...)
			}
			_, err := ParseConfig(delegate(`"ranges":[]`, fmt.Sprintf(`"runtimeConfig":{"ipRanges":[[{%s}]]}`, tt.in)), "")
			wantError(t, err, tt.code, append([]string{"network podnet: runtimeConfig.ipRanges[0][0]"}, tt.texts...)...)
		})
	}
}

func TestRangeSetsAreCheckedAsAWhole(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		code     uint
		texts    []string
	}{
		// host-local's config_test.go and range_set_test.go.
		{"an overlap between sets",
			`"ranges":[[{"subnet":"10.1.2.0/24"},{"subnet":"10.2.2.0/24"}],[{"subnet":"10.1.4.0/24"},{"subnet":"10.1.6.0/24"},{"subnet":"10.1.8.0/24"},{"subnet":"10.1.2.0/24"}]]`,
			CodeConfig, []string{"ipam.ranges[0][0].subnet: 10.1.2.1-10.1.2.254 overlaps 10.1.2.1-10.1.2.254 of ipam.ranges[1][3].subnet"}},
		{"an overlap within a set", `"ranges":[[{"subnet":"10.1.0.0/22"},{"subnet":"10.1.2.0/24"}]]`,
			CodeConfig, []string{"ipam.ranges[0][0].subnet: 10.1.0.1-10.1.3.254 overlaps 10.1.2.1-10.1.2.254 of ipam.ranges[0][1].subnet"}},
		{"a wide range around others", `"ranges":[[{"subnet":"192.168.2.0/24"}],[{"subnet":"192.168.9.0/24"}],[{"subnet":"192.168.0.0/20"}]]`,
			CodeConfig, []string{"overlaps", "ipam.ranges[2][0].subnet", "ipam.ranges[0][0].subnet"}},
		{"an overlap in one address", `"ranges":[[{"subnet":"10.0.0.0/24","rangeEnd":"10.0.0.127"},{"subnet":"10.0.0.0/24","rangeStart":"10.0.0.127"}]]`,
			CodeConfig, []string{"overlaps"}},
		{"families mixed in a set", `"ranges":[[{"subnet":"10.1.0.0/22"},{"subnet":"2001:db8:5::/64"}]]`,
			CodeConfig, []string{`ipam.ranges[0][1].subnet "2001:db8:5::/64" is IPv6, but ipam.ranges[0][0].subnet is IPv4`}},

		{"an overlap of the old-style range", `"subnet":"10.1.0.0/16","ranges":[[{"subnet":"10.1.2.0/24"}]]`,
			CodeConfig, []string{"ipam.subnet: 10.1.0.1-10.1.255.254 overlaps", "ipam.ranges[0][0].subnet"}},
		{"an empty set", `"ranges":[[{"subnet":"10.1.0.0/16"}],[]]`, CodeConfig, []string{"ipam.ranges[1] is an empty range set"}},
		{"a set that is null", `"ranges":[null]`, CodeConfig, []string{"ipam.ranges[0] is an empty range set"}},
		{"a range without a subnet", `"ranges":[[{"subnet":"10.1.0.0/16"},{"rangeStart":"10.2.0.5"}]]`, CodeConfig, []string{"ipam.ranges[0][1].subnet is missing"}},
		{"a range that is null", `"ranges":[[null]]`, CodeConfig, []string{"ipam.ranges[0][0].subnet is missing"}},
		{"no sets", `"ranges":[]`, CodeConfig, []string{"no address ranges", "ipam.subnet", "ipam.ranges"}},
		{"nothing at all", `"dataDir":""`, CodeConfig, []string{"no address ranges"}},
		{"an old-style range without a subnet", `"rangeStart":"10.0.0.1","gateway":"10.0.0.1"`, CodeConfig, []string{"no address ranges"}},
		{"ranges that are an object", `"ranges":{"subnet":"10.1.0.0/16"}`, CodeDecode, []string{"ipam.ranges must be a list, not an object"}},
		{"a set that is an object", `"ranges":[{"subnet":"10.1.0.0/16"}]`, CodeDecode, []string{"ipam.ranges[0] must be a list, not an object"}},
		{"a range that is a string", `"ranges":[["10.1.0.0/16"]]`, CodeDecode, []string{`ipam.ranges[0][0] must be an object, not the string "10.1.0.0/16"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseConfig(delegate(tt.in), "")
			wantError(t, err, tt.code, append([]string{"network podnet: "}, tt.texts...)...)
		})
	}
}

func TestRangesThatOnlySeemToOverlapAreAccepted(t *testing.T) {
	for _, tt := range []struct{ name, in string }{
		{"neighbours", `"ranges":[[{"subnet":"10.0.0.0/24"}],[{"subnet":"10.0.1.0/24"}]]`},
		{"the same bits in both families", `"ranges":[[{"subnet":"0.0.0.0/24"}],[{"subnet":"::/24"}]]`},
		{"two halves of a subnet", `"ranges":[[{"subnet":"10.0.0.0/24","rangeEnd":"10.0.0.127"}],[{"subnet":"10.0.0.0/24","rangeStart":"10.0.0.128"}]]`},
		{"not in the order of addresses", `"ranges":[[{"subnet":"10.0.1.0/24"},{"subnet":"10.0.0.0/24"}],[{"subnet":"fd00::/64"}]]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ParseConfig(delegate(tt.in), ""); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheLastAddressOfAPrefix(t *testing.T) {
	for prefix, want := range map[string]string{
		"0.0.0.0/0":          "255.255.255.255",
		"10.0.0.0/8":         "10.255.255.255",
		"10.128.0.0/9":       "10.255.255.255",
		"10.0.0.4/32":        "10.0.0.4",
		"::/0":               "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		"::/80":              "::ffff:255.255.255.255",
		"2001:db8:8000::/33": "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
	} {
		if got := lastAddr(netip.MustParsePrefix(prefix)); got.String() != want {
			t.Errorf("%s: got %s, want %s", prefix, got, want)
		}
	}
}
