package ipam

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

func TestTheThreeWaysToRequestAnAddressAreMerged(t *testing.T) {
	const subnet = `"subnet":"10.1.2.0/24"`
	for _, tt := range []struct {
		name string
		args string
		top  []string
		want []string
	}{
		// host-local's config_test.go.
		{"CNI_ARGS", "IP=10.1.2.10", nil, []string{"10.1.2.10"}},
		{"CNI_ARGS with a prefix length", "IP=10.1.2.11/24", nil, []string{"10.1.2.11"}},
		{"CNI_ARGS, then args.cni.ips", "IP=10.1.2.10", []string{`"args":{"cni":{"ips":["10.1.2.11","11.11.11.11","2001:db8:1::11"]}}`},
			[]string{"10.1.2.10", "10.1.2.11", "11.11.11.11", "2001:db8:1::11"}},
		{"both with prefix lengths", "IP=10.1.2.10/24", []string{`"args":{"cni":{"ips":["10.1.2.11/24","11.11.11.11/24","2001:db8:1::11/64"]}}`},
			[]string{"10.1.2.10", "10.1.2.11", "11.11.11.11", "2001:db8:1::11"}},
		{"runtimeConfig.ips", "", []string{`"runtimeConfig":{"ips":["192.168.0.1","192.168.0.5/24","2001:db8::1/64"]}`},
			[]string{"192.168.0.1", "192.168.0.5", "2001:db8::1"}},

		{"all three, in order", "IP=10.1.2.30", []string{`"runtimeConfig":{"ips":["10.1.2.10"]}`, `"args":{"cni":{"ips":["10.1.2.20"]}}`},
			[]string{"10.1.2.30", "10.1.2.20", "10.1.2.10"}},
		{"the same address in all three is one", "IP=10.1.2.9/24",
			[]string{`"args":{"cni":{"ips":["10.1.2.9","::ffff:10.1.2.9"]}}`, `"runtimeConfig":{"ips":["10.1.2.9/16"]}`}, []string{"10.1.2.9"}},
		{"one in the spelling of IPv6", "IP=::ffff:10.1.2.9", nil, []string{"10.1.2.9"}},
		{"nothing", "", nil, nil},
		{"an empty IP", "IP=", nil, nil},
		{"the last IP counts", "IP=10.1.2.9;IP=10.1.2.10", nil, []string{"10.1.2.10"}},
		{"an empty IP takes the one before it back", "IP=10.1.2.9;IP=", nil, nil},
		{"empty and null lists", "", []string{`"args":{"cni":{"ips":[]}}`, `"runtimeConfig":{"ips":null}`}, nil},
		{"no args.cni", "", []string{`"args":{"other":1,"cni":null}`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := ParseConfig(delegate(subnet, tt.top...), tt.args)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range cfg.Requested {
				got = append(got, a.String())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTheArgumentsOfKubernetesNeedNoIgnoreUnknown(t *testing.T) {
	all := record.Pod{Namespace: "default", Name: "web-0", UID: "u-1", InfraContainerID: "abc"}
	for _, tt := range []struct {
		args string
		want record.Pod
	}{
		{"K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0;K8S_POD_INFRA_CONTAINER_ID=abc;K8S_POD_UID=u-1", all},
		{"IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0;K8S_POD_INFRA_CONTAINER_ID=abc;K8S_POD_UID=u-1;FOO=x", all},
		{"K8S_POD_UID=1", record.Pod{UID: "1"}},
		{"K8S_POD_UID=1;K8S_POD_LATER=x", record.Pod{UID: "1"}},
		{"IgnoreUnknown=true;FOO=x", record.Pod{}},
		{"", record.Pod{}},
	} {
		cfg, err := ParseConfig(delegate(`"subnet":"10.1.2.0/24"`), tt.args)
		if err != nil {
			t.Fatalf("%s: %v", tt.args, err)
		}
		if cfg.Pod != tt.want {
			t.Errorf("%s: got %+v", tt.args, cfg.Pod)
		}
	}
}

func TestWrongCNIArgsAreACaseForTheEnvironment(t *testing.T) {
	for args, text := range map[string]string{
		"FOO=x":                    `unknown args ["FOO=x"]`,
		"ip=10.1.2.9":              "unknown args", // keys are case-sensitive here, as with host-local
		"IgnoreUnknown=0;FOO=x":    "unknown args",
		"IgnoreUnknown=maybe":      "IgnoreUnknown=maybe",
		"IP":                       `invalid pair "IP"`,
		"IP=10.1.2.9;":             `invalid pair ""`,
		"K8S_POD_NAME=a=b":         "invalid pair",
		"IP=10.1.2":                `IP "10.1.2" is not an IP address`,
		"IP=10.1.2.9/33":           "no prefix length from 0 to 32",
		"IP=10.1.2.9/":             "no prefix length",
		"IP=fe80::1%eth0":          "not an IP address",
		"IP=10.1.2.9,10.1.2.10":    "not an IP address",
		"CommonArgs=x":             "CommonArgs",
		"IP=1.2.3.4;IgnoreUnknown": "invalid pair",
	} {
		t.Run(args, func(t *testing.T) {
			_, err := ParseConfig(delegate(`"subnet":"10.1.2.0/24"`), args)
			wantError(t, err, CodeEnvironment, "network podnet: CNI_ARGS: ", text)
			if strings.Contains(err.Error(), "ARGS: ARGS: ") {
				t.Errorf("the variable is named twice: %v", err)
			}
		})
	}
}

func TestAWrongRequestIsRefusedByItsPath(t *testing.T) {
	for _, path := range []string{"args.cni.ips", "runtimeConfig.ips"} {
		form := map[string]string{"args.cni.ips": `"args":{"cni":{"ips":%s}}`, "runtimeConfig.ips": `"runtimeConfig":{"ips":%s}`}[path]
		for _, tt := range []struct {
			ips  string
			code uint
			text string
		}{
			{`["10.1.2.9","x"]`, CodeConfig, path + `[1] "x" is not an IP address`},
			{`["10.1.2.9/33"]`, CodeConfig, path + `[0] "10.1.2.9/33" has no prefix length from 0 to 32`},
			{`["fe80::1%eth0"]`, CodeConfig, path + "[0]"},
			{`[""]`, CodeConfig, path + "[0] is empty"},
			{`[null]`, CodeDecode, path + "[0] must be a string, not null"},
			{`[9]`, CodeDecode, path + "[0] must be a string, not the number 9"},
			{`"10.1.2.9"`, CodeDecode, path + " must be a list"},
		} {
			t.Run(path+tt.ips, func(t *testing.T) {
				_, err := ParseConfig(delegate(`"subnet":"10.1.2.0/24"`, fmt.Sprintf(form, tt.ips)), "")
				wantError(t, err, tt.code, tt.text)
			})
		}
	}
}

func addrList(texts ...string) []netip.Addr {
	list := make([]netip.Addr, len(texts))
	for i, s := range texts {
		if s != "" {
			list[i] = netip.MustParseAddr(s)
		}
	}
	return list
}

// someSets are two range sets with all that can keep an address back.
func someSets(t *testing.T) []record.RangeSet {
	t.Helper()
	cfg, err := ParseConfig(delegate(`"ranges":[
		[{"subnet":"10.0.0.0/24","exclude":["10.0.0.32/28"]},
		 {"subnet":"10.0.1.0/24","rangeStart":"10.0.1.8","rangeEnd":"10.0.1.15","gateway":"10.0.0.77"},
		 {"subnet":"10.0.2.0/24","gateway":"192.168.7.1"}],
		[{"subnet":"fd00::/64"}]]`), "")
	if err != nil {
		t.Fatal(err)
	}
	return cfg.RangeSets
}

func TestRequestedAddressesGoToTheirRangeSets(t *testing.T) {
	sets := someSets(t)
	for _, tt := range []struct{ requested, want []netip.Addr }{
		{nil, addrList("", "")},
		{addrList("10.0.0.9"), addrList("10.0.0.9", "")},
		{addrList("10.0.1.8"), addrList("10.0.1.8", "")},
		{addrList("fd00::9"), addrList("", "fd00::9")},
		{addrList("fd00::9", "10.0.1.15"), addrList("10.0.1.15", "fd00::9")},
	} {
		got, err := assignRequested(sets, tt.requested)
		if err != nil {
			t.Errorf("%v: %v", tt.requested, err)
		} else if !slices.Equal(got, tt.want) {
			t.Errorf("%v: got %v, want %v", tt.requested, got, tt.want)
		}
	}
}

func TestARequestThatNobodyCanBeGivenSaysWhy(t *testing.T) {
	sets := someSets(t)
	for _, tt := range []struct {
		requested []netip.Addr
		text      string
	}{
		{addrList("10.9.9.9"), "requested address 10.9.9.9 is outside of all ranges: 10.0.0.1-10.0.0.254,10.0.1.8-10.0.1.15,10.0.2.1-10.0.2.254; fd00::1-fd00::ffff:ffff:ffff:ffff"},
		{addrList("10.0.0.255"), "10.0.0.255 is outside of all ranges"},
		{addrList("10.0.1.16"), "10.0.1.16 is outside of all ranges"},
		{addrList("10.0.0.9", "fd01::1"), "fd01::1 is outside of all ranges"},
		{addrList("10.0.0.1"), "requested address 10.0.0.1 is the gateway of subnet 10.0.0.0/24"},
		{addrList("fd00::1"), "fd00::1 is the gateway of subnet fd00::/64"},
		{addrList("10.0.0.77"), "requested address 10.0.0.77 is the gateway of subnet 10.0.1.0/24"},
		{addrList("192.168.7.1"), "192.168.7.1 is the gateway of subnet 10.0.2.0/24"},
		{addrList("10.0.0.40"), "requested address 10.0.0.40 is excluded from subnet 10.0.0.0/24 by exclude entry 10.0.0.32/28"},
		{addrList("10.0.0.9", "10.0.1.9"), "requested addresses 10.0.0.9 and 10.0.1.9 are both of range set 10.0.0.1-10.0.0.254,10.0.1.8-10.0.1.15,10.0.2.1-10.0.2.254"},
	} {
		_, err := assignRequested(sets, tt.requested)
		wantError(t, err, CodeRequestedUnusable, tt.text)
	}
}
