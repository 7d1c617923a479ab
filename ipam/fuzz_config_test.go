package ipam

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

// FuzzParseConfig holds a configuration that was accepted, from any stdin and
// CNI_ARGS, to what the allocator takes for granted.
func FuzzParseConfig(f *testing.F) {
	for _, members := range []string{
		`"subnet":"10.1.2.0/24","rangeStart":"10.1.2.9","rangeEnd":"10.1.2.20","gateway":"10.1.2.30"`,
		`"subnet":"0.0.0.0/0","rangeStart":"0.0.0.0","rangeEnd":"255.255.255.255"`,
		`"subnet":"::/0","exclude":["::/1","10.0.0.0/8"]`,
		`"subnet":"192.0.2.0/31","gateway":"192.0.2.1"`,
		`"ranges":[[{"subnet":"fd00::/127"},{"subnet":"fd00::8/128"}],[{"subnet":"255.255.255.252/30"}]]`,
		`"ranges":[[{"subnet":"10.0.0.0/24","exclude":["10.0.0.8/30","10.0.0.9"]}],[]],"routes":[{"dst":"0.0.0.0/0","gw":"10.0.0.1","mtu":1400}]`,
		`"subnet":"::ffff:10.0.0.0/120","RangeStart":"::ffff:10.0.0.4"`,
		`"subnet":"fe80::%eth0/64","dataDri":"x","dataDir":"rel/dir"`,
		`"subnet":"10.0.0.0/8","lockTimeout":"1s","migration":{"phase":"switch","hostLocalDir":"/x"},"cniCacheDirs":["/a"],"statusIgnoresExhaustion":true`,
	} {
		f.Add(delegate(members), "IP=10.1.2.10/24;K8S_POD_NAME=web-0")
		f.Add(delegate(members, `"runtimeConfig":{"ipRanges":[[{"subnet":"10.9.0.0/16"}]],"ips":["10.1.2.9"]}`, `"args":{"cni":{"ips":["fd00::5/64"]}}`), "")
	}
	f.Add([]byte(`{"cniVersion":"0.2.0","name":"n","type":"bolt-local"}`), "IP=")
	f.Add([]byte(`{"name":"n","x":1e999}`), "FOO=x;IgnoreUnknown=1")
	f.Add([]byte(`null`), ";")

	f.Fuzz(func(t *testing.T, stdin []byte, cniArgs string) {
		lenient := ParseLenient(stdin)
		checkSettings(t, lenient)
		checkRanges(t, lenient.RangeSets)

		cfg, err := ParseConfig(stdin, cniArgs)
		if err != nil {
			checkConfigError(t, err)
			return
		}
		checkSettings(t, cfg)
		checkRanges(t, cfg.RangeSets)
		checkAddresses(t, cfg.Requested)
		if cfg.Network == "" || cfg.Role == Delegate && len(cfg.RangeSets) == 0 {
			t.Errorf("accepted without a name or ranges: %+v", cfg)
		}
		// Both readings agree on what is valid.
		if lenient.Network != cfg.Network || lenient.DataDir != cfg.DataDir || lenient.LegacyParent != cfg.LegacyParent ||
			lenient.Role != cfg.Role || describeSets(lenient.RangeSets) != describeSets(cfg.RangeSets) {
			t.Errorf("readings differ:\n%+v\n%+v", lenient, cfg)
		}
	})
}

// FuzzParseArgs does the same for CNI_ARGS alone, which fuzzing reaches
// deeper into when the configuration stays valid.
func FuzzParseArgs(f *testing.F) {
	for _, args := range []string{
		"", "IP=10.1.2.10", "IP=fd00::5/64", "IP=::ffff:10.1.2.9/120", "IP=;IP=10.1.2.9", "ip=1.2.3.4", "IgnoreUnknown=True;FOO=x", "CommonArgs=1",
		"K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0;K8S_POD_INFRA_CONTAINER_ID=abc;K8S_POD_UID=u-1", "IP=fe80::1%eth0", "a=b=c", ";;",
	} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, args string) {
		addr, pod, err := parseEnvArgs(args)
		if err != nil {
			if CodeOf(err) != CodeEnvironment {
				t.Errorf("code %d: %v", CodeOf(err), err)
			}
			if addr.IsValid() || pod != (record.Pod{}) {
				t.Errorf("got %v and %+v beside an error", addr, pod)
			}
			return
		}
		if addr.IsValid() {
			checkAddresses(t, []netip.Addr{addr})
		}
		for _, value := range []string{pod.Namespace, pod.Name, pod.UID, pod.InfraContainerID} {
			if !strings.Contains(args, value) {
				t.Errorf("%q is not from %q", value, args)
			}
		}
	})
}

// FuzzValidAttachments looks for a list that GC would take for complete while
// it is not.
func FuzzValidAttachments(f *testing.F) {
	for _, in := range []string{
		`{"cni.dev/valid-attachments":[{"containerID":"a","ifname":"eth0"},{"containerID":"b","ifname":"net1"}]}`,
		`{"cni.dev/valid-attachments":null,"cni.dev/attachments":[]}`,
		`{"cni.dev/attachments":[{"containerid":"a","IFNAME":"eth0"}],"disableGC":"true"}`,
		`{"cni.dev/valid-attachments":[null]}`, `{"cni.dev/valid-attachments":[{"containerID":"a"}]}`, `{"disableGC":true}`, `{}`, `null`, `[`,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, stdin []byte) {
		valid, err := ParseValidAttachments(stdin)
		if err != nil {
			checkConfigError(t, err)
			if valid.Kind != AttachmentsAbsent || valid.List != nil {
				t.Errorf("got %+v beside an error", valid)
			}
			return
		}
		if (valid.List != nil) != (valid.Kind == AttachmentsListed) {
			t.Errorf("kind %d with the list %v", valid.Kind, valid.List)
		}
		for _, a := range valid.List {
			if a.ContainerID == "" || a.IfName == "" {
				t.Errorf("accepted %+v", a)
			}
		}
	})
}

func checkConfigError(t *testing.T, err error) {
	t.Helper()
	if code := CodeOf(err); !slices.Contains([]uint{CodeEnvironment, CodeDecode, CodeConfig}, code) {
		t.Errorf("code %d: %v", code, err)
	}
	if strings.Contains(err.Error(), "not found") {
		t.Errorf("go-cni would take this for success: %v", err)
	}
}

func checkSettings(t *testing.T, cfg *Config) {
	t.Helper()
	for _, path := range append([]string{cfg.DataDir, cfg.LegacyParent}, cfg.CNICacheDirs...) {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
			t.Errorf("path %q", path)
		}
	}
	if cfg.LockTimeout <= 0 || cfg.LockTimeout > maxLockTimeout {
		t.Errorf("lock timeout %s", cfg.LockTimeout)
	}
	if cfg.CNIVersion == "" {
		t.Error("no version")
	}
	if strings.Contains(cfg.Network, "/") || cfg.Network == "." || cfg.Network == ".." {
		t.Errorf("network %q", cfg.Network)
	}
}

func checkAddresses(t *testing.T, list []netip.Addr) {
	t.Helper()
	seen := map[netip.Addr]bool{}
	for _, a := range list {
		if !a.IsValid() || a.Zone() != "" || a.Is4In6() || seen[a] {
			t.Errorf("address %q of %v", a, list)
		}
		seen[a] = true
	}
}

// checkRanges holds every range to the promises of record.Range, and the sets
// to theirs. It counts on nothing that the parser computes with.
func checkRanges(t *testing.T, sets []record.RangeSet) {
	t.Helper()
	var all []record.Range
	for _, set := range sets {
		if len(set) == 0 {
			t.Fatal("an empty set")
		}
		for _, r := range set {
			checkRange(t, r)
			if r.Start.Is4() != set[0].Start.Is4() {
				t.Errorf("two families: %s", set)
			}
			all = append(all, r)
		}
	}
	for i, r := range all {
		for _, o := range all[:i] {
			if r.Contains(o.Start) || r.Contains(o.End) || o.Contains(r.Start) || o.Contains(r.End) {
				t.Errorf("%s overlaps %s", r, o)
			}
		}
	}
}

func checkRange(t *testing.T, r record.Range) {
	t.Helper()
	s := describeRange(r)
	if !r.Subnet.IsValid() || r.Subnet != r.Subnet.Masked() || r.Subnet.Addr().Is4In6() {
		t.Errorf("subnet: %s", s)
	}
	if !r.Subnet.Contains(r.Start) || !r.Subnet.Contains(r.End) || r.End.Less(r.Start) {
		t.Errorf("bounds: %s", s)
	}
	if r.Gateway.IsValid() && r.Gateway.Is4() != r.Start.Is4() || !r.Gateway.IsValid() && !r.Subnet.IsSingleIP() && r.Subnet.Bits() < r.Start.BitLen()-1 {
		t.Errorf("gateway: %s", s)
	}
	if r.Subnet.Addr().Is4() && r.Subnet.Bits() < 31 {
		// The address after the broadcast address is outside, or there is none.
		if next := r.End.Next(); r.Start == r.Subnet.Addr() || !next.IsValid() || !r.Subnet.Contains(next) {
			t.Errorf("a network or broadcast address: %s", s)
		}
	}
	for i, p := range r.Exclude {
		if p != p.Masked() || p.Addr().Is4() != r.Start.Is4() {
			t.Errorf("exclude entry %s: %s", p, s)
		}
		if !p.Contains(r.Start) && !r.Contains(p.Addr()) {
			t.Errorf("exclude entry %s is elsewhere: %s", p, s)
		}
		if i > 0 && (p.Overlaps(r.Exclude[i-1]) || p.Addr().Less(r.Exclude[i-1].Addr())) {
			t.Errorf("exclude is not sorted and disjoint: %s", s)
		}
	}
}
