package cnicache

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

func TestEveryFormatOfLibcniIsRead(t *testing.T) {
	both := addrs("10.22.0.5", "fd00:22::5")
	args := `,"cniArgs":[["IgnoreUnknown","1"],["K8S_POD_NAMESPACE","default"],["K8S_POD_NAME","web-0"],` +
		`["K8S_POD_UID","u-1"],["K8S_POD_INFRA_CONTAINER_ID","3f1c"]]`
	pod := record.Pod{Namespace: "default", Name: "web-0", UID: "u-1", InfraContainerID: "3f1c"}
	for name, c := range map[string]struct {
		content string
		want    Entry
	}{
		"0.7, a bare result": {bridge110, Entry{NetNS: "/ns/result", Addrs: both}},
		"0.7, a bare result of 0.3.1": {bridge031,
			Entry{NetNS: "/ns/result", Addrs: addrs("10.22.0.5")}},
		"0.8, without a namespace": {v1("podnet", "3f1c", "eth0", bridge110, args),
			Entry{NetNS: "/ns/result", Pod: pod, Addrs: both}},
		"1.2, with a namespace": {v1("podnet", "3f1c", "eth0", bridge110, args+`,"netns":"/ns/entry"`),
			Entry{NetNS: "/ns/entry", Pod: pod, Addrs: both}},
		"0.8, a result of 0.2.0": {v1("podnet", "3f1c", "eth0", old020, ""), Entry{Addrs: both}},
		"0.8, a result of 0.1.0 without its version": {v1("podnet", "3f1c", "eth0", `{"ip6":{"ip":"fd00:22::5/64"}}`, ""),
			Entry{Addrs: addrs("fd00:22::5")}},
		"0.8, a result without addresses": {v1("podnet", "3f1c", "eth0", noFields, ""), Entry{}},
		"an IPv4 address written as IPv6, and twice": {v1("podnet", "3f1c", "eth0",
			`{"cniVersion":"1.0.0","ips":[{"address":"fd00::9/64"},{"address":"::ffff:10.22.0.5/112"},{"address":"10.22.0.5/16"}]}`, ""),
			Entry{Addrs: addrs("fd00::9", "10.22.0.5")}},
		"the host's interface of the same name": {v1("podnet", "3f1c", "eth0",
			`{"cniVersion":"1.0.0","interfaces":[{"name":"eth0"},{"name":"net1","sandbox":"/ns/1"},{"name":"eth0","sandbox":"/ns/2"}]}`, ""),
			Entry{NetNS: "/ns/2"}},
		"nulls in the place of entries": {v1("podnet", "3f1c", "eth0",
			`{"cniVersion":"1.0.0","interfaces":[null],"ips":[null,{"address":"10.22.0.5/16"},{"address":null}],"ip4":null,"routes":[null]}`,
			`,"cniArgs":[null,["K8S_POD_NAME"],[null,null]]`),
			Entry{Addrs: addrs("10.22.0.5")}},
		"nulls in the place of lists": {v1("podnet", "3f1c", "eth0",
			`{"cniVersion":"1.0.0","interfaces":null,"ips":null}`, `,"cniArgs":null,"netns":null`), Entry{}},
		"no result": {v1("podnet", "3f1c", "eth0", "null", `,"netns":"/ns/entry"`), Entry{NetNS: "/ns/entry"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Attachment = key("3f1c", "eth0")
			cache := Cache{Dirs: []string{files{"podnet-3f1c-eth0": c.content}.write(t)}}
			got, errs := cache.Network("podnet")
			wantErrors(t, errs)
			if d := diff([]Entry{c.want}, got); d != "" {
				t.Errorf("Network (-want +got):\n%s", d)
			}
			one, found, err := cache.Attachment("podnet", c.want.Attachment)
			if !found || err != nil {
				t.Fatalf("Attachment: found %v, error %v", found, err)
			}
			if d := diff(c.want, one); d != "" {
				t.Errorf("Attachment (-want +got):\n%s", d)
			}
		})
	}
}

func TestNamesMayHaveDashes(t *testing.T) {
	for name, c := range map[string]struct {
		network, file, content string
		want                   []record.Attachment
	}{
		"in all three": {"a-b", "a-b-k8s-io-1-net-1", v1("a-b", "k8s-io-1", "net-1", bridge110, ""),
			[]record.Attachment{key("k8s-io-1", "net-1")}},
		"in all three of a bare result": {"a-b", "a-b-k8s-io-1-net-1", bareOf("10.0.0.2/24", "net-1"),
			[]record.Attachment{key("k8s-io-1", "net-1")}},
		"in another network's name": {"a", "a-b-1-eth0", v1("a-b", "1", "eth0", bridge110, ""), nil},
		"in the id, though another network has the shorter one": {"a", "a-b-1-eth0", v1("a", "b-1", "eth0", bridge110, ""),
			[]record.Attachment{key("b-1", "eth0")}},
		"in a bare result, which two networks may claim": {"a", "a-b-1-eth0", bareOf("10.0.0.2/24", "eth0"),
			[]record.Attachment{key("b-1", "eth0")}},
		"at the end of another network's name":         {"a", "a--1-eth0", v1("a-", "1", "eth0", bridge110, ""), nil},
		"in the name of lo":                            {"podnet", "podnet-1-lo", v1("podnet", "1", "lo", noFields, ""), nil},
		"in the name of lo in a bare result":           {"podnet", "podnet-1-lo", bareOf("127.0.0.1/8", "lo"), nil},
		"in the name of lo in a result without fields": {"cni", "cni-loopback-1-lo", noFields, nil},
		"the same interface twice": {"podnet", "podnet-1-eth0", bareOf("10.0.0.2/24", "eth0", "net1", "eth0"),
			[]record.Attachment{key("1", "eth0")}},
		"a name that only begins alike": {"pod", "podnet-1-eth0", v1("podnet", "1", "eth0", bridge110, ""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := Cache{Dirs: []string{files{c.file: c.content}.write(t)}}.Network(c.network)
			wantErrors(t, errs)
			var keys []record.Attachment
			for _, e := range got {
				keys = append(keys, e.Attachment)
			}
			if d := diff(c.want, keys); d != "" {
				t.Errorf("attachments of %s (-want +got):\n%s", c.network, d)
			}
		})
	}
}

func TestManyFilesComeInTheOrderOfTheirNames(t *testing.T) {
	const many = 1000 // enough for several readers
	f := files{}
	for i := range many {
		id := fmt.Sprintf("%04d", i)
		f["podnet-"+id+"-eth0"] = v1("podnet", id, "eth0", bareOf(fmt.Sprintf("10.1.%d.%d/16", i/256, i%256)), "")
		if i%100 == 0 {
			f["podnet-"+id+"-eth0"] = "torn"
		}
	}
	entries, errs := Cache{Dirs: []string{f.write(t)}}.Network("podnet")
	if len(entries)+len(errs) != many || len(errs) != many/100 {
		t.Fatalf("%d entries, %d errors", len(entries), len(errs))
	}
	for i, e := range entries {
		n := i + i/99 + 1 // the first of each hundred is torn
		if id := fmt.Sprintf("%04d", n); e.ContainerID != id || e.Addrs[0].As4()[3] != byte(n%256) {
			t.Fatalf("entry %d is %+v, want that of %s", i, e, id)
		}
	}
	for i, err := range errs {
		if !strings.Contains(err.Error(), fmt.Sprintf("podnet-%02d00-eth0", i)) {
			t.Errorf("error %d is %v", i, err)
		}
	}
}

func TestTheFirstDirectoryWins(t *testing.T) {
	main := files{
		"podnet-b-eth0": v1("podnet", "b", "eth0", bareOf("10.0.0.2/24"), ""),
		"podnet-a-eth0": v1("podnet", "a", "eth0", bareOf("10.0.0.3/24"), ""),
		"podnet-c-eth0": `{"kind":"cniCa`,
	}.write(t)
	multus := files{
		"podnet-a-eth0": v1("podnet", "a", "eth0", bareOf("10.0.0.9/24"), ""),
		"podnet-a-net1": v1("podnet", "a", "net1", bareOf("10.0.0.4/24"), ""),
		"podnet-c-eth0": v1("podnet", "c", "eth0", bareOf("10.0.0.5/24"), ""),
	}.write(t)
	c := Cache{Dirs: []string{main, filepath.Join(main, "missing"), multus}}
	got, errs := c.Network("podnet")
	wantErrors(t, errs, filepath.Join(main, "podnet-c-eth0"))
	want := []Entry{
		{Attachment: key("a", "eth0"), Addrs: addrs("10.0.0.3")},
		{Attachment: key("b", "eth0"), Addrs: addrs("10.0.0.2")},
		{Attachment: key("a", "net1"), Addrs: addrs("10.0.0.4")},
		{Attachment: key("c", "eth0"), Addrs: addrs("10.0.0.5")},
	}
	if d := diff(want, got); d != "" {
		t.Errorf("entries (-want +got):\n%s", d)
	}
	for _, e := range want {
		one, found, _ := c.Attachment("podnet", e.Attachment)
		if d := diff(e, one); !found || d != "" {
			t.Errorf("Attachment %v: found %v (-want +got):\n%s", e.Attachment, found, d)
		}
	}
}
