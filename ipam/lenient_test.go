package ipam

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestALenientReadingGoesOn(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		change   func(*Config) // of the defaults
		warnings []string      // what each begins with
	}{
		{"no ipam", `{"name":"n"}`, nil, nil},
		{"an ipam that is null", `{"name":"n","ipam":null}`, nil, nil},
		{"no ranges", `{"name":"n","ipam":{"type":"bolt-local"}}`, nil, nil},
		{"an ipam that is a list", `{"name":"n","ipam":[]}`, nil, []string{"ipam must be an object"}},
		{"dataDir beside fields of the wrong type",
			`{"name":"n","type":7,"cniVersion":"1.0.0","ipam":{"type":{},"ranges":{},"subnet":1,"rangeStart":[],"routes":7,"exclude":"x","dataDir":"/srv",
			"lockTimeout":5,"statusIgnoresExhaustion":1,"cniCacheDirs":[5,"/c"],"migration":[]}}`,
			func(c *Config) {
				c.CNIVersion, c.DataDir, c.LegacyParent, c.CNICacheDirs = "1.0.0", "/srv", "/srv", []string{"/c"}
			},
			[]string{
				"ipam.lockTimeout", "ipam.statusIgnoresExhaustion", "ipam.cniCacheDirs[0]", "ipam.migration", "type", "ipam.type",
				"ipam.subnet", "ipam.rangeStart", "ipam.exclude", "ipam.ranges",
			}},
		{"lockTimeout beside a wrong dataDir", `{"name":"n","ipam":{"dataDir":7,"lockTimeout":"3s"}}`,
			func(c *Config) { c.LockTimeout = 3 * time.Second }, []string{"ipam.dataDir must be a string"}},
		{"values that are wrong", `{"name":"n","ipam":{"lockTimeout":"1h","migration":{"phase":"x","hostLocalDir":"/old"}}}`,
			func(c *Config) { c.Migration.HostLocalDir, c.LegacyParent = "/old", "/old" },
			[]string{`ipam.lockTimeout "1h"`, `ipam.migration.phase "x"`}},
		{"ranges that overlap", `{"name":"n","ipam":{"dataDir":"/srv","ranges":[[{"subnet":"10.0.0.0/8"}],[{"subnet":"10.1.0.0/16"}]]}}`,
			func(c *Config) { c.DataDir, c.LegacyParent = "/srv", "/srv" }, []string{"ipam.ranges[0][0].subnet"}},
		{"requests, routes and resolvConf are not looked at",
			`{"name":"n","args":7,"ipam":{"routes":[null],"resolvConf":7},"runtimeConfig":{"ips":["x"]}}`, nil, nil},
		{"an empty and a mixed case name of a field", `{"name":"n","ipam":{"":7,"DATADIR":"/srv"}}`,
			func(c *Config) { c.DataDir, c.LegacyParent = "/srv", "/srv" }, nil},
		{"of two dataDirs the one written as documented counts", `{"name":"n","ipam":{"DataDir":"/a","dataDir":"/b","datadir":"/c"}}`,
			func(c *Config) { c.DataDir, c.LegacyParent = "/b", "/b" },
			[]string{`ipam.dataDir is given twice, as "DataDir" and as "dataDir"`, `ipam.dataDir is given twice, as "dataDir" and as "datadir"`}},
		{"another plugin's number that no float64 holds", `{"name":"n","x":1e999,"ipam":{"dataDir":"/srv"}}`,
			func(c *Config) { c.DataDir, c.LegacyParent = "/srv", "/srv" }, []string{"the network configuration has a number 1e999"}},
		{"what skel would not let through", `{`, func(c *Config) { c.Network = "" }, []string{"the network configuration is not JSON", "name is missing"}},
		{"a name that leads elsewhere", `{"name":"../n"}`, func(c *Config) { c.Network = "" }, []string{`name "../n"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := &Config{
				Network: "n", CNIVersion: "0.1.0", DataDir: DefaultDataDir, LockTimeout: DefaultLockTimeout,
				CNICacheDirs: DefaultCNICacheDirs(), LegacyParent: DefaultLegacyParent,
			}
			if tt.change != nil {
				tt.change(want)
			}
			got := ParseLenient([]byte(tt.in))
			warnings := got.Warnings
			got.Warnings = nil
			if !reflect.DeepEqual(got, want) {
				t.Errorf("\n got %+v\nwant %+v", got, want)
			}
			if !slices.EqualFunc(warnings, tt.warnings, strings.HasPrefix) {
				t.Errorf("warnings\n%s\nwant those that begin\n%s", strings.Join(warnings, "\n"), strings.Join(tt.warnings, "\n"))
			}
		})
	}
}

func TestALenientReadingHasTheRangesForCheck(t *testing.T) {
	cfg := ParseLenient(delegate(`"subnet":"10.0.0.0/24","ranges":[[{"subnet":"fd00::/64"}]]`, `"runtimeConfig":{"ipRanges":[[{"subnet":"10.9.0.0/16"}]]}`))
	want := "10.9.0.0/16 10.9.0.1-10.9.255.254 via 10.9.0.1\n10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.1\n" +
		"fd00::/64 fd00::1-fd00::ffff:ffff:ffff:ffff via fd00::1"
	if got := describeSets(cfg.RangeSets); got != want || len(cfg.Warnings) > 0 {
		t.Errorf("got %s, warnings %q", got, cfg.Warnings)
	}
}
