package ipam

import (
	"net/netip"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

func TestExcludeIsCanonicalAndOfItsRange(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"addresses become prefixes", `"subnet":"10.0.0.0/24","exclude":["10.0.0.9"]`,
			"10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.1 without 10.0.0.9/32"},
		{"sorted, without duplicates and what another contains",
			`"subnet":"10.0.0.0/24","exclude":["10.0.0.64/26","10.0.0.9","10.0.0.70","10.0.0.9/32","10.0.0.64/27","10.0.0.64"]`,
			"10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.1 without 10.0.0.9/32,10.0.0.64/26"},
		{"each family has its own entries",
			`"exclude":["fd00::8000/113","10.0.0.9"],"ranges":[[{"subnet":"10.0.0.0/24"}],[{"subnet":"fd00::/112"}]]`,
			"10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.1 without 10.0.0.9/32\n" +
				"fd00::/112 fd00::1-fd00::ffff via fd00::1 without fd00::8000/113"},
		{"entries of ipam and of the range add up",
			`"exclude":["10.0.0.9","10.0.0.5"],"ranges":[[{"subnet":"10.0.0.0/24","exclude":["10.0.0.8/30"]},{"subnet":"10.0.1.0/24"}]]`,
			"10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.1 without 10.0.0.5/32,10.0.0.8/30 | 10.0.1.0/24 10.0.1.1-10.0.1.254 via 10.0.1.1"},
		{"what does not touch the range is dropped",
			`"subnet":"10.0.0.0/24","rangeStart":"10.0.0.16","rangeEnd":"10.0.0.31","exclude":["10.0.0.15","10.0.0.16","10.0.0.24/29","10.0.0.32","192.168.0.0/16"]`,
			"10.0.0.0/24 10.0.0.16-10.0.0.31 via 10.0.0.1 without 10.0.0.16/32,10.0.0.24/29"},
		{"an entry may reach beyond the range", `"subnet":"10.0.0.0/24","rangeStart":"10.0.0.20","exclude":["10.0.0.16/29"]`,
			"10.0.0.0/24 10.0.0.20-10.0.0.254 via 10.0.0.1 without 10.0.0.16/29"},
		{"a whole range may be taken out", `"subnet":"10.0.0.0/24","exclude":["0.0.0.0/0"]`,
			"10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.1 without 0.0.0.0/0"},
		{"a mapped address is IPv4", `"subnet":"10.0.0.0/24","exclude":["::ffff:10.0.0.9"]`,
			"10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.1 without 10.0.0.9/32"},
		{"an empty list", `"subnet":"10.0.0.0/24","exclude":[]`, "10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := ParseConfig(delegate(tt.in), "")
			if err != nil {
				t.Fatal(err)
			}
			if got := describeSets(cfg.RangeSets); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestAWrongExcludeIsRefusedByItsPath(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		code     uint
		text     string
	}{
		{"words", `"subnet":"10.0.0.0/24","exclude":["10.0.0.1","junk"]`, CodeConfig, `ipam.exclude[1] "junk" is not an IP address`},
		{"host bits", `"subnet":"10.0.0.0/24","exclude":["10.0.0.9/29"]`, CodeConfig, `ipam.exclude[0] "10.0.0.9/29" has host bits set; the network address is 10.0.0.8/29`},
		{"a zone", `"subnet":"fe80::/64","exclude":["fe80::1%eth0"]`, CodeConfig, "ipam.exclude[0]"},
		{"a mapped prefix", `"subnet":"10.0.0.0/24","exclude":["::ffff:10.0.0.0/120"]`, CodeConfig, "write 10.0.0.0/24"},
		{"an empty entry", `"subnet":"10.0.0.0/24","exclude":[""]`, CodeConfig, "ipam.exclude[0] is empty"},
		{"a null entry", `"subnet":"10.0.0.0/24","exclude":[null]`, CodeDecode, "ipam.exclude[0] must be a string, not null"},
		{"a string", `"subnet":"10.0.0.0/24","exclude":"10.0.0.9"`, CodeDecode, `ipam.exclude must be a list, not the string "10.0.0.9"`},
		{"a number in a range's list", `"ranges":[[{"subnet":"10.0.0.0/24","exclude":[9]}]]`, CodeDecode, "ipam.ranges[0][0].exclude[0] must be a string, not the number 9"},
		{"the other family in a range's list", `"ranges":[[{"subnet":"10.0.0.0/24","exclude":["10.0.0.2","fd00::1"]}]]`, CodeConfig,
			`ipam.ranges[0][0].exclude[1] "fd00::1" is IPv6, but subnet 10.0.0.0/24 is IPv4`},
		{"words in a range's list", `"ranges":[[{"subnet":"10.0.0.0/24","exclude":["x/y"]}]]`, CodeConfig, `ipam.ranges[0][0].exclude[0] "x/y"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseConfig(delegate(tt.in), "")
			wantError(t, err, tt.code, tt.text)
		})
	}
}

func TestExcludedByNamesTheEntry(t *testing.T) {
	r := record.Range{Exclude: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.8/30"), netip.MustParsePrefix("10.0.0.32/32"),
	}}
	for addr, want := range map[string]string{
		"10.0.0.7":  "",
		"10.0.0.8":  "10.0.0.8/30",
		"10.0.0.11": "10.0.0.8/30",
		"10.0.0.12": "",
		"10.0.0.32": "10.0.0.32/32",
		"10.0.0.33": "",
	} {
		p, ok := excludedBy(r, netip.MustParseAddr(addr))
		if ok != (want != "") || ok && p.String() != want {
			t.Errorf("%s: got %v %v, want %q", addr, p, ok, want)
		}
	}
}
