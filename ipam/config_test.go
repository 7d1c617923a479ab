package ipam

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheDefaultsOfAConfiguration(t *testing.T) {
	cfg, err := ParseConfig([]byte(`{"name":"podnet","type":"bridge","ipam":{"type":"bolt-local","subnet":"10.0.0.0/24"}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describeSets(cfg.RangeSets), "10.0.0.0/24 10.0.0.1-10.0.0.254 via 10.0.0.1"; got != want {
		t.Errorf("ranges: got %s, want %s", got, want)
	}
	cfg.RangeSets = nil
	want := &Config{
		Network:      "podnet",
		CNIVersion:   "0.1.0",
		Role:         Delegate,
		DataDir:      "/var/lib/cni/bolt-local",
		LockTimeout:  10 * time.Second,
		CNICacheDirs: []string{"/var/lib/cni/results", "/var/lib/cni/multus/results"},
		LegacyParent: "/var/lib/cni/networks",
	}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("\n got %+v\nwant %+v", cfg, want)
	}
}

func TestAllSettingsAreRead(t *testing.T) {
	in := delegate(`"subnet":"10.0.0.0/24","dataDir":"/srv/./ipam/","lockTimeout":"1m30s","statusIgnoresExhaustion":true,
		"cniCacheDirs":["/a","/b/"],"migration":{"phase":"switch","hostLocalDir":"/old/"},"resolvConf":"/etc/resolv.conf"`)
	want := &Config{
		Network:                 "podnet",
		CNIVersion:              "1.0.0",
		DataDir:                 "/srv/ipam",
		LockTimeout:             90 * time.Second,
		StatusIgnoresExhaustion: true,
		CNICacheDirs:            []string{"/a", "/b"},
		Migration:               MigrationConfig{Phase: "switch", HostLocalDir: "/old"},
		LegacyParent:            "/old",
		ResolvConf:              "/etc/resolv.conf",
	}
	cfg, err := ParseConfig(in, "")
	if err != nil {
		t.Fatal(err)
	}
	sets := cfg.RangeSets
	cfg.RangeSets = nil
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("ParseConfig:\n got %+v\nwant %+v", cfg, want)
	}

	lenient := ParseLenient(in)
	want.ResolvConf, want.RangeSets = "", sets
	if !reflect.DeepEqual(lenient, want) {
		t.Errorf("ParseLenient:\n got %+v\nwant %+v", lenient, want)
	}
}

func TestHostLocalsOrderOfRangeSets(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []byte
		want string
	}{
		// host-local's config_test.go.
		{"an old-style range", delegate(`"subnet":"10.1.2.0/24","rangeStart":"10.1.2.9","rangeEnd":"10.1.2.20","gateway":"10.1.2.30"`),
			"10.1.2.0/24 10.1.2.9-10.1.2.20 via 10.1.2.30"},
		{"a list", delegate(`"ranges":[[{"subnet":"10.1.2.0/24","rangeStart":"10.1.2.9","rangeEnd":"10.1.2.20","gateway":"10.1.2.30"},{"subnet":"10.1.4.0/24"}],
			[{"subnet":"11.1.2.0/24","rangeStart":"11.1.2.9","rangeEnd":"11.1.2.20","gateway":"11.1.2.30"}]]`),
			"10.1.2.0/24 10.1.2.9-10.1.2.20 via 10.1.2.30 | 10.1.4.0/24 10.1.4.1-10.1.4.254 via 10.1.4.1\n" +
				"11.1.2.0/24 11.1.2.9-11.1.2.20 via 11.1.2.30"},
		{"those of the runtime, the old-style one, the list",
			delegate(`"subnet":"10.1.2.0/24","rangeStart":"10.1.2.9","rangeEnd":"10.1.2.20","gateway":"10.1.2.30",
			"ranges":[[{"subnet":"11.1.2.0/24","rangeStart":"11.1.2.9","rangeEnd":"11.1.2.20","gateway":"11.1.2.30"}]]`,
				`"runtimeConfig":{"irrelevant":"a","ipRanges":[[{"subnet":"12.1.3.0/24"}]]}`),
			"12.1.3.0/24 12.1.3.1-12.1.3.254 via 12.1.3.1\n10.1.2.0/24 10.1.2.9-10.1.2.20 via 10.1.2.30\n11.1.2.0/24 11.1.2.9-11.1.2.20 via 11.1.2.30"},

		{"those of the runtime alone", delegate(`"ranges":[]`, `"runtimeConfig":{"ipRanges":[[{"subnet":"12.1.3.0/24","exclude":["12.1.3.4"]}]]}`),
			"12.1.3.0/24 12.1.3.1-12.1.3.254 via 12.1.3.1 without 12.1.3.4/32"},
		{"a runtime that has none", delegate(`"subnet":"10.1.2.0/24"`, `"runtimeConfig":null`, `"args":null`), "10.1.2.0/24 10.1.2.1-10.1.2.254 via 10.1.2.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := ParseConfig(tt.in, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := describeSets(cfg.RangeSets); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestVersionsBeforeLists(t *testing.T) {
	const twoV4 = `"ranges":[[{"subnet":"10.1.2.0/24"}],[{"subnet":"11.1.2.0/24"}]]`
	const twoV6 = `"ranges":[[{"subnet":"fd00::/64"}],[{"subnet":"fd01::/64"}],[{"subnet":"11.1.2.0/24"}]]`
	const both = `"ranges":[[{"subnet":"10.1.2.0/24"},{"subnet":"11.1.2.0/24"}],[{"subnet":"2001:db8:1::/48"}]]`
	for _, tt := range []struct{ version, ranges, want string }{
		{"0.2.0", twoV4, `cniVersion "0.2.0" has room for one IPv4 address`},
		{"0.1.0", twoV6, `cniVersion "0.1.0" has room for one IPv6 address`},
		{"", twoV4, `cniVersion "0.1.0" has room for one IPv4 address`},
		{"0.2.0", both, ""},
		{"0.3.0", twoV4, ""},
		{"1.1.0", twoV6, ""},
		{"x", twoV4, `cniVersion "x" has room for one IPv4 address`},
	} {
		t.Run(tt.version+" "+tt.ranges, func(t *testing.T) {
			_, err := ParseConfig(fmt.Appendf(nil, `{"cniVersion":%q,"name":"n","ipam":{%s}}`, tt.version, tt.ranges), "")
			switch {
			case tt.want != "":
				wantError(t, err, CodeConfig, tt.want)
			case err != nil:
				t.Error(err)
			}
		})
	}
}

func TestAWrongSettingIsRefusedByItsPath(t *testing.T) {
	const ok = `"subnet":"10.0.0.0/24"`
	for _, tt := range []struct {
		name string
		in   []byte
		code uint
		text string
	}{
		{"no JSON", []byte(`{"name":"podnet"`), CodeDecode, "the network configuration is not JSON"},
		{"nothing", nil, CodeDecode, "the network configuration is not JSON"},
		{"a list", []byte(`[]`), CodeDecode, "the network configuration must be an object, not a list"},
		{"null", []byte(`null`), CodeConfig, "name is missing"},
		{"two values", []byte(`{"name":"a"}{"name":"b"}`), CodeDecode, "not JSON"},
		{"no name", []byte(`{"ipam":{"subnet":"10.0.0.0/24"}}`), CodeConfig, "name is missing"},
		{"a name that is a number", []byte(`{"name":1}`), CodeDecode, "name must be a string, not the number 1"},
		{"a name that leads elsewhere", []byte(`{"name":"../x"}`), CodeConfig, `name "../x"`},
		{"two names", []byte(`{"name":"a","Name":"b"}`), CodeConfig, `name is given twice, as "Name" and as "name"`},
		{"a version that is a number", []byte(`{"name":"a","cniVersion":1.0}`), CodeDecode, "cniVersion must be a string, not the number 1"},
		{"a type that is a list", []byte(`{"name":"a","type":[]}`), CodeDecode, "type must be a string, not a list"},
		{"no ipam", []byte(`{"name":"podnet","type":"bridge"}`), CodeConfig, "network podnet: ipam is missing"},
		{"an ipam that is null", []byte(`{"name":"podnet","ipam":null}`), CodeConfig, "network podnet: ipam is missing"},
		{"an ipam that is a string", []byte(`{"name":"podnet","ipam":"bolt-local"}`), CodeDecode, `ipam must be an object, not the string "bolt-local"`},
		{"an ipam type that is a number", []byte(`{"name":"podnet","ipam":{"type":1,"subnet":"10.0.0.0/24"}}`), CodeDecode, "ipam.type must be a string"},
		{"a runtimeConfig that is a list", delegate(ok, `"runtimeConfig":[]`), CodeDecode, "runtimeConfig must be an object, not a list"},
		{"ipRanges that are a string", delegate(ok, `"runtimeConfig":{"ipRanges":"x"}`), CodeDecode, "runtimeConfig.ipRanges must be a list"},
		{"args that are a string", delegate(ok, `"args":"x"`), CodeDecode, "args must be an object"},
		{"args.cni that is a string", delegate(ok, `"args":{"cni":"x"}`), CodeDecode, "args.cni must be an object"},

		{"a dataDir that is a list", delegate(ok + `,"dataDir":["/x"]`), CodeDecode, "ipam.dataDir must be a string, not a list"},
		{"a dataDir with a NUL byte", delegate(ok + `,"dataDir":"/x\u0000"`), CodeConfig, `ipam.dataDir "/x\x00" has a NUL byte`},
		{"a resolvConf that is an object", delegate(ok + `,"resolvConf":{}`), CodeDecode, "ipam.resolvConf must be a string, not an object"},
		{"a lockTimeout that is a number", delegate(ok + `,"lockTimeout":10`), CodeDecode, "ipam.lockTimeout must be a string, not the number 10"},
		{"a lockTimeout without a unit", delegate(ok + `,"lockTimeout":"10"`), CodeConfig, `ipam.lockTimeout "10" is not a duration such as 10s`},
		{"a lockTimeout of nothing", delegate(ok + `,"lockTimeout":"0s"`), CodeConfig, `ipam.lockTimeout "0s" is not above 0`},
		{"a negative lockTimeout", delegate(ok + `,"lockTimeout":"-1s"`), CodeConfig, "ipam.lockTimeout"},
		{"a lockTimeout beyond the bound", delegate(ok + `,"lockTimeout":"10m1ns"`), CodeConfig, "up to 10m0s"},
		{"statusIgnoresExhaustion in quotes", delegate(ok + `,"statusIgnoresExhaustion":"true"`), CodeDecode,
			`ipam.statusIgnoresExhaustion must be true or false, not the string "true"`},
		{"cniCacheDirs that are a string", delegate(ok + `,"cniCacheDirs":"/x"`), CodeDecode, "ipam.cniCacheDirs must be a list"},
		{"an empty cache directory", delegate(ok + `,"cniCacheDirs":["/x",""]`), CodeConfig, "ipam.cniCacheDirs[1] is empty"},
		{"a migration that is a string", delegate(ok + `,"migration":"switch"`), CodeDecode, "ipam.migration must be an object"},
		{"a phase that does not exist", delegate(ok + `,"migration":{"phase":"Switch"}`), CodeConfig,
			`ipam.migration.phase "Switch" is not one of legacy, expand, switch, contract`},
		{"a phase that is a number", delegate(ok + `,"migration":{"phase":2}`), CodeDecode, "ipam.migration.phase must be a string"},
		{"a hostLocalDir that is false", delegate(ok + `,"migration":{"hostLocalDir":false}`), CodeDecode, "ipam.migration.hostLocalDir must be a string, not false"},

		{"routes that are an object", delegate(ok + `,"routes":{}`), CodeDecode, "ipam.routes must be a list"},
		{"a route that is null", delegate(ok + `,"routes":[null]`), CodeDecode, "ipam.routes[0] must be an object, not null"},
		{"a route that is a string", delegate(ok + `,"routes":[{"dst":"0.0.0.0/0"},"x"]`), CodeDecode, "ipam.routes[1] must be an object"},
		{"a route without dst", delegate(ok + `,"routes":[{"gw":"10.0.0.1"}]`), CodeConfig, "ipam.routes[0].dst is missing"},
		{"a dst that is no prefix", delegate(ok + `,"routes":[{"dst":"0.0.0.0"}]`), CodeConfig, `ipam.routes[0].dst "0.0.0.0" is not an address and a prefix length`},
		{"a dst that is a number", delegate(ok + `,"routes":[{"dst":0}]`), CodeDecode, "ipam.routes[0].dst must be a string"},
		{"a gw that is no address", delegate(ok + `,"routes":[{"dst":"0.0.0.0/0","gw":"x"}]`), CodeConfig, `ipam.routes[0].gw "x" is not an IP address`},
		{"an mtu in quotes", delegate(ok + `,"routes":[{"dst":"0.0.0.0/0","mtu":"1400"}]`), CodeDecode, `ipam.routes[0].mtu must be a whole number, not the string "1400"`},
		{"a table with a fraction", delegate(ok + `,"routes":[{"dst":"0.0.0.0/0","table":1.5}]`), CodeDecode, "ipam.routes[0].table must be a whole number, not the number 1.5"},
		{"a scope beyond all numbers", delegate(ok + `,"routes":[{"dst":"0.0.0.0/0","scope":1e300}]`), CodeDecode, "ipam.routes[0].scope must be a whole number, not the number 1e+300"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseConfig(tt.in, "")
			wantError(t, err, tt.code, tt.text)
		})
	}
}

func TestALongValueIsCutInAnError(t *testing.T) {
	_, err := ParseConfig(delegate(`"subnet":"`+strings.Repeat("9", 1_000_000)+`"`), "")
	wantError(t, err, CodeConfig, "ipam.subnet", `999"…`)
	if n := len(err.Error()); n > 500 {
		t.Errorf("the error has %d bytes", n)
	}
}

func TestANetworkThatIsNamedLikeAFileOfOursIsRefused(t *testing.T) {
	for _, name := range []string{"checkpoint.db", "checkpoint.db.damaged-1", "lock", "journal", "journal.tmp", "deferred"} {
		in := fmt.Appendf(nil, `{"name":%q,"ipam":{"subnet":"10.0.0.0/24"}}`, name)
		_, err := ParseConfig(in, "")
		wantError(t, err, CodeConfig, name, "own files")
		if w := ParseLenient(in).Warnings; len(w) != 1 || !strings.Contains(w[0], "own files") {
			t.Errorf("%s: warnings of a lenient reading: %q", name, w)
		}
	}
	for _, name := range []string{"checkpoint", "checkpoint.database", "locks", "journals", "Lock", "deferred2"} {
		if _, err := ParseConfig(fmt.Appendf(nil, `{"name":%q,"ipam":{"subnet":"10.0.0.0/24"}}`, name), ""); err != nil {
			t.Error(err)
		}
	}
}

func TestWhereHostLocalsDirectoryIs(t *testing.T) {
	for _, tt := range []struct{ name, in, dataDir, legacy string }{
		{"by default", ``, DefaultDataDir, DefaultLegacyParent},
		{"with dataDir", `"dataDir":"/srv/ipam"`, "/srv/ipam", "/srv/ipam"},
		{"with hostLocalDir", `"migration":{"hostLocalDir":"/old"}`, DefaultDataDir, "/old"},
		{"with both", `"dataDir":"/srv/ipam","migration":{"hostLocalDir":"/old"}`, "/srv/ipam", "/old"},
		{"with empty ones", `"dataDir":"","migration":{"hostLocalDir":""}`, DefaultDataDir, DefaultLegacyParent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := ParseLenient(fmt.Appendf(nil, `{"name":"n","ipam":{%s}}`, tt.in))
			if cfg.DataDir != tt.dataDir || cfg.LegacyParent != tt.legacy || len(cfg.Warnings) > 0 {
				t.Errorf("got %s, %s, warnings %q", cfg.DataDir, cfg.LegacyParent, cfg.Warnings)
			}
		})
	}
}

func TestARelativePathIsMadeAbsoluteAndMentioned(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := ParseConfig(delegate(`"subnet":"10.0.0.0/24","dataDir":"state/ipam"`), "")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(wd, "state/ipam"); cfg.DataDir != want || cfg.LegacyParent != want {
		t.Errorf("got %s and %s, want %s", cfg.DataDir, cfg.LegacyParent, want)
	}
	if len(cfg.Warnings) != 1 || !strings.Contains(cfg.Warnings[0], `ipam.dataDir "state/ipam" is relative`) {
		t.Errorf("warnings: %q", cfg.Warnings)
	}
}

func TestNoCacheDirectoriesAreNotTheDefaultOnes(t *testing.T) {
	cfg, err := ParseConfig(delegate(`"subnet":"10.0.0.0/24","cniCacheDirs":[]`), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.CNICacheDirs) != 0 {
		t.Errorf("got %q", cfg.CNICacheDirs)
	}
}

func TestRoutesAreHandedOnInFull(t *testing.T) {
	cfg, err := ParseConfig(delegate(`"subnet":"10.0.0.0/24","routes":[
		{"dst":"0.0.0.0/0"},
		{"dst":"10.7.1.2/16","gw":"10.0.0.9","MTU":1400,"advmss":1360,"priority":100,"table":254,"scope":0},
		{"dst":"fd00::/8","gw":"","mtu":null,"table":null}]`), "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(cfg.Routes)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"dst":"0.0.0.0/0"},` +
		`{"dst":"10.7.1.2/16","gw":"10.0.0.9","mtu":1400,"advmss":1360,"priority":100,"table":254,"scope":0},` +
		`{"dst":"fd00::/8"}]`
	if string(got) != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestAFieldWithoutEffectIsMentioned(t *testing.T) {
	cfg, err := ParseConfig(delegate(`"rangeStart":"10.0.0.5","gateway":"10.0.0.1","ranges":[[{"subnet":"10.0.0.0/24"}]]`), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ipam.rangeStart has no effect without ipam.subnet", "ipam.gateway has no effect without ipam.subnet"}
	if !slices.Equal(cfg.Warnings, want) {
		t.Errorf("got %q", cfg.Warnings)
	}
}

func TestAGatewayThatBridgeWouldMakeUpIsMentioned(t *testing.T) {
	const isGateway, isDefault = `"isGateway":true`, `"isDefaultGateway":true`
	text := func(path, subnet, after string) string {
		return path + ".gateway is missing: bridge makes the address after " + after + " its own, which a pod may be given; name a gateway for " + subnet
	}
	for name, tt := range map[string]struct {
		ipam, top string
		want      []string
	}{
		"a /31":                    {`"subnet":"10.0.0.4/31"`, isGateway, []string{text("ipam", "10.0.0.4/31", "10.0.0.4")}},
		"a /128, default gateway":  {`"subnet":"fd00::4/128"`, isDefault, []string{text("ipam", "fd00::4/128", "fd00::4")}},
		"two of three in ranges":   {`"ranges":[[{"subnet":"10.0.0.0/32"},{"subnet":"10.0.1.0/24"}],[{"subnet":"fd00::/127"}]]`, isGateway, []string{text("ipam.ranges[0][0]", "10.0.0.0/32", "10.0.0.0"), text("ipam.ranges[1][0]", "fd00::/127", "fd00::")}},
		"it is named":              {`"subnet":"10.0.0.4/31","gateway":"10.0.0.4"`, isGateway, nil},
		"a /30":                    {`"subnet":"10.0.0.4/30"`, isGateway, nil},
		"bridge is no gateway":     {`"subnet":"10.0.0.4/31"`, `"isGateway":false`, nil},
		"not bridge's kind of yes": {`"subnet":"10.0.0.4/31"`, `"isGateway":"yes"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := delegate(tt.ipam, tt.top)
			cfg, err := ParseConfig(in, "")
			if err != nil || !slices.Equal(cfg.Warnings, tt.want) {
				t.Errorf("\n got %q, %v\nwant %q", cfg.Warnings, err, tt.want)
			}
			if w := ParseLenient(in).Warnings; len(w) > 0 {
				t.Errorf("DEL, which gives nothing: %q", w)
			}
			cfg, err = ParseConfig(bytes.Replace(in, []byte(`"bridge"`), []byte(`"macvlan"`), 1), "")
			if err != nil || len(cfg.Warnings) > 0 {
				t.Errorf("macvlan: %v, %q", err, cfg.Warnings)
			}
		})
	}
}

func TestNothingIsAnErrorInFieldsOfOtherPlugins(t *testing.T) {
	for _, member := range []string{
		`"isGateway":true,"isgateway":false`, `"isDefaultGateway":[1],"ISDEFAULTGATEWAY":{}`, `"capabilities":{"ips":true},"Capabilities":7`,
	} {
		if _, err := ParseConfig(delegate(`"subnet":"10.0.0.0/24"`, member), ""); err != nil {
			t.Errorf("%s: %v", member, err)
		}
	}
}

func TestTheChainedRoleNeedsNothing(t *testing.T) {
	for _, tt := range []struct{ name, ipam string }{
		{"no ipam", ``},
		{"an ipam that is null", `,"ipam":null`},
		{"an empty ipam", `,"ipam":{}`},
		{"ranges, routes and requests that would be wrong", `,"ipam":{"ranges":[[]],"routes":[null],"resolvConf":1},"args":1,"runtimeConfig":{"ips":["x"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := []byte(`{"cniVersion":"1.1.0","name":"podnet","type":"bolt-local"` + tt.ipam + `}`)
			cfg, err := ParseConfig(in, "IP=x;FOO=bar")
			if err != nil {
				t.Fatal(err)
			}
			want := &Config{
				Network: "podnet", CNIVersion: "1.1.0", Role: Chained, DataDir: DefaultDataDir, LockTimeout: DefaultLockTimeout,
				CNICacheDirs: DefaultCNICacheDirs(), LegacyParent: DefaultLegacyParent,
			}
			if !reflect.DeepEqual(cfg, want) {
				t.Errorf("ParseConfig:\n got %+v\nwant %+v", cfg, want)
			}
			if cfg := ParseLenient(in); !reflect.DeepEqual(cfg, want) {
				t.Errorf("ParseLenient:\n got %+v\nwant %+v", cfg, want)
			}
		})
	}
}

func TestTheChainedRoleChecksWhatItReads(t *testing.T) {
	in := `{"name":"podnet","type":"bolt-local","ipam":{"dataDir":"/x","lockTimeout":%s}}`
	cfg, err := ParseConfig(fmt.Appendf(nil, in, `"2s"`), "")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.DataDir != "/x" || cfg.LockTimeout != 2*time.Second {
		t.Errorf("got %s, %s", cfg.DataDir, cfg.LockTimeout)
	}
	_, err = ParseConfig(fmt.Appendf(nil, in, `"2"`), "")
	wantError(t, err, CodeConfig, "network podnet: ipam.lockTimeout")
}
