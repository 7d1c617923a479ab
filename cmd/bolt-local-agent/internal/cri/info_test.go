package cri

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bolt-local/bolt-local/migrate/backfill"
)

func iface(name string, addrs ...string) backfill.Interface {
	i := backfill.Interface{Name: name}
	for _, a := range addrs {
		i.Addrs = append(i.Addrs, netip.MustParseAddr(a))
	}
	return i
}

// The samples have the shape of what each runtime answers; see the sources of
// containerd (pkg/cri/server/sandbox_status.go in 1.6, internal/cri/server in 2)
// and of CRI-O (server/sandbox_status.go).
func TestEachRuntimesVerboseInformationIsRead(t *testing.T) {
	for file, want := range map[string]told{
		"containerd-1.6.json":           {"/var/run/netns/cni-5e0a7b1c", []backfill.Interface{iface("eth0", "10.22.0.5", "fd00:22::5")}},
		"containerd-2.json":             {"/var/run/netns/cni-5e0a7b1c", []backfill.Interface{iface("eth0", "10.22.0.5", "fd00:22::5")}},
		"containerd-no-interfaces.json": {"", []backfill.Interface{iface("eth0", "10.22.0.5")}},
		"crio.json":                     {"/var/run/netns/8a1b", []backfill.Interface{iface("eth0", "10.85.0.7", "fd00:85::7")}},
	} {
		t.Run(file, func(t *testing.T) {
			sample, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			expectTold(t, string(sample), want)
		})
	}
}

func TestWhatCannotBeReadOfItIsPassedOver(t *testing.T) {
	for name, c := range map[string]struct {
		sample string
		want   told
	}{
		"nothing":                        {"", told{}},
		"no JSON":                        {"{", told{}},
		"another type":                   {`{"cniResult":[],"sandboxMetadata":{"Metadata":{"NetNSPath":"/n"}}}`, told{netns: "/n"}},
		"an address that is none":        {`{"cniResult":{"Interfaces":{"eth0":{"IPConfigs":[{"IP":"x"},{"IP":"10.0.0.1"}]}}}}`, told{"", []backfill.Interface{iface("eth0", "10.0.0.1")}}},
		"an interface that is null":      {`{"cniResult":{"Interfaces":{"eth0":null}}}`, told{}},
		"a mapped address":               {`{"cniResult":{"Interfaces":{"eth0":{"IPConfigs":[{"IP":"::ffff:10.0.0.1"}]}}}}`, told{"", []backfill.Interface{iface("eth0", "10.0.0.1")}}},
		"a result that is no JSON":       {`{"runtimeSpec":{"annotations":{"io.kubernetes.cri-o.CNIResult":"x"}}}`, told{}},
		"an index out of range":          {`{"runtimeSpec":{"annotations":{"io.kubernetes.cri-o.CNIResult":"{\"ips\":[{\"interface\":7,\"address\":\"10.0.0.1/8\"}]}"}}}`, told{"", []backfill.Interface{iface("", "10.0.0.1")}}},
		"an index below none":            {`{"runtimeSpec":{"annotations":{"io.kubernetes.cri-o.CNIResult":"{\"ips\":[{\"interface\":-1,\"address\":\"10.0.0.1/8\"}]}"}}}`, told{"", []backfill.Interface{iface("", "10.0.0.1")}}},
		"no index, and two interfaces":   {`{"runtimeSpec":{"annotations":{"io.kubernetes.cri-o.CNIResult":"{\"interfaces\":[{\"name\":\"a\",\"sandbox\":\"/n\"},{\"name\":\"b\",\"sandbox\":\"/n\"}],\"ips\":[{\"address\":\"10.0.0.1/8\"}]}"}}}`, told{"/n", []backfill.Interface{iface("", "10.0.0.1")}}},
		"an address without its length":  {`{"runtimeSpec":{"annotations":{"io.kubernetes.cri-o.CNIResult":"{\"ips\":[{\"address\":\"10.0.0.1\"}]}"}}}`, told{}},
		"the host's end of a pair":       {`{"cniResult":{"Interfaces":{"cali1":{"IPConfigs":[{"IP":"10.0.0.1"}],"Sandbox":""},"eth0":{"IPConfigs":null,"Sandbox":"/n"}}}}`, told{"", []backfill.Interface{iface("", "10.0.0.1")}}},
		"the host's end, by its index":   {`{"runtimeSpec":{"annotations":{"io.kubernetes.cri-o.CNIResult":"{\"interfaces\":[{\"name\":\"cali1\"},{\"name\":\"eth0\",\"sandbox\":\"/n\"}],\"ips\":[{\"interface\":0,\"address\":\"10.0.0.1/8\"}]}"}}}`, told{"/n", []backfill.Interface{iface("eth0", "10.0.0.1")}}},
		"the same address in both forms": {`{"cniResult":{"Interfaces":{"eth0":{"IPConfigs":[{"IP":"10.0.0.1"}],"Sandbox":"/n"}}},"runtimeSpec":{"annotations":{"io.kubernetes.cri-o.CNIResult":"{\"interfaces\":[{\"name\":\"eth0\",\"sandbox\":\"/n\"}],\"ips\":[{\"interface\":0,\"address\":\"10.0.0.1/8\"}]}"}}}`, told{"/n", []backfill.Interface{iface("eth0", "10.0.0.1")}}},
	} {
		t.Run(name, func(t *testing.T) { expectTold(t, c.sample, c.want) })
	}
}

func expectTold(t *testing.T, sample string, want told) {
	t.Helper()
	got := parseInfo(map[string]string{infoKey: sample})
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(told{}), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("told differs (-want +got):\n%s", diff)
	}
}

func FuzzParseInfo(f *testing.F) {
	samples, err := filepath.Glob("testdata/*.json")
	if err != nil || len(samples) == 0 {
		f.Fatalf("no samples: %v", err)
	}
	for _, path := range samples {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, sample string) {
		for _, i := range parseInfo(map[string]string{infoKey: sample}).interfaces {
			if len(i.Addrs) == 0 {
				t.Errorf("interface %q has no address", i.Name)
			}
			for _, addr := range i.Addrs {
				if !addr.IsValid() || addr.Is4In6() {
					t.Errorf("interface %q has the address %v", i.Name, addr)
				}
			}
		}
	})
}
