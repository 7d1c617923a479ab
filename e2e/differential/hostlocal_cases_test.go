package differential

import (
	"slices"
	"testing"
)

// multiple are the versions whose results hold several addresses per family.
var multiple = slices.DeleteFunc(slices.Clone(versions), func(v string) bool { return v < "0.3.0" })

const one24 = `{"ranges": [[{"subnet": "10.1.2.0/24"}]]}`

// TestCasesOfHostLocal has what host-local v1.10.0 tests of its verbs and its
// allocator, as far as it can be seen from outside.
func TestCasesOfHostLocal(t *testing.T) {
	runScenarios(t, slices.Concat(verbCases, requestCases, allocatorCases()))
}

var verbCases = []scenario{
	{
		name:     "allocates and releases addresses of two families",
		versions: versions,
		ipam: `{"ranges": [[{"subnet": "10.1.2.0/24"}, {"subnet": "10.2.2.0/24"}], [{"subnet": "2001:db8:1::/64"}]],
			"routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}, {"dst": "192.168.0.0/16", "gw": "1.1.1.1"},
				{"dst": "2001:db8:2::/64", "gw": "2001:db8:3::1"}]}`,
		actions: []action{
			add("dummy", "10.1.2.2/24 2001:db8:1::2/64"),
			del("dummy"),
			add("dummy", "10.1.2.3/24 2001:db8:1::3/64"),
		},
	},
	{
		name:     "keeps two interfaces of one container apart",
		versions: versions,
		ipam:     one24,
		actions: []action{
			add("dummy", "10.1.2.2/24"),
			add("dummy", "10.1.2.3/24").on("eth1"),
			del("dummy"),
			add("other", refused).asking("10.1.2.3"),
			add("other", "10.1.2.2/24").asking("10.1.2.2"),
		},
	},
	{
		name:     "allocates to a second container after a repeated ADD",
		versions: versions,
		ipam:     one24,
		actions: []action{
			add("dummy", "10.1.2.2/24"),
			add("dummy", refused).but("10.1.2.2/24"),
			add("dummy1", "10.1.2.3/24"),
			add("dummy", refused).but("10.1.2.2/24"),
			del("dummy"),
			del("dummy1"),
		},
		reason: "runtimes repeat ADD for a key, and the pod still uses its address",
	},
	{
		name:     "does not mind a DEL of an unknown container",
		versions: versions,
		ipam:     `{"subnet": "10.1.2.0/24"}`,
		actions:  []action{del("dummy"), del("dummy")},
	},
	{
		name: "frees with GC what is not listed, and rewinds no cursor",
		ipam: one24,
		actions: []action{
			add("live", "10.1.2.2/24"),
			add("leaked", "10.1.2.3/24"),
			gc("live"),
			add("x", refused).asking("10.1.2.2"),
			add("newcomer", "10.1.2.4/24"),
			add("leaked", "10.1.2.3/24").asking("10.1.2.3"),
			gc(),
			add("x", "10.1.2.2/24").asking("10.1.2.2"),
		},
	},
}

var requestCases = []scenario{
	{
		name:     "allocates a requested address",
		versions: versions,
		ipam:     one24,
		actions:  []action{add("dummy", "10.1.2.88/24").asking("10.1.2.88")},
	},
	{
		name:     "allocates requested addresses of two range sets",
		versions: multiple,
		ipam:     `{"ranges": [[{"subnet": "10.1.2.0/24"}], [{"subnet": "10.1.3.0/24"}]]}`,
		actions:  []action{add("dummy", "10.1.2.88/24 10.1.3.77/24").asking("10.1.2.88", "10.1.3.77")},
	},
	{
		name:     "allocates requested addresses of two families",
		versions: versions,
		ipam:     `{"ranges": [[{"subnet": "172.16.1.0/24"}, {"subnet": "10.1.2.0/24"}], [{"subnet": "2001:db8:1::/48"}]]}`,
		actions:  []action{add("dummy", "10.1.2.88/24 2001:db8:1::999/48").asking("10.1.2.88", "2001:db8:1::999")},
	},
	{
		name:     "refuses two requested addresses of one range set",
		versions: versions,
		ipam:     `{"ranges": [[{"subnet": "10.1.2.0/24"}], [{"subnet": "10.1.3.0/24"}]]}`,
		actions:  []action{add("dummy", refused).asking("10.1.2.88", "10.1.2.77")},
	},
	{
		name: "refuses a requested address that is taken",
		ipam: `{"subnet": "192.168.1.0/29"}`,
		actions: []action{
			add("ID", "192.168.1.5/29").asking("192.168.1.5"),
			add("ID2", refused).asking("192.168.1.5"),
		},
	},
	{
		name:    "refuses a requested address after rangeEnd",
		ipam:    `{"subnet": "192.168.1.0/29", "rangeEnd": "192.168.1.4"}`,
		actions: []action{add("ID", refused).asking("192.168.1.5")},
	},
	{
		name:    "refuses a requested address before rangeStart",
		ipam:    `{"subnet": "192.168.1.0/29", "rangeStart": "192.168.1.3"}`,
		actions: []action{add("ID", refused).asking("192.168.1.2")},
	},
	{
		name:    "refuses the gateway as a requested address",
		ipam:    `{"subnet": "192.168.1.0/29"}`,
		actions: []action{add("ID", refused).asking("192.168.1.1")},
	},
	{
		name: "takes requested addresses with a prefix length, and from CNI_ARGS",
		ipam: one24,
		actions: []action{
			add("a", "10.1.2.10/24").asking("10.1.2.10/16"),
			add("b", "10.1.2.11/24").args("IP=10.1.2.11"),
			add("c", "10.1.2.12/24").args("IgnoreUnknown=1;IP=10.1.2.12/24;FOO=bar"),
			add("d", refused).args("FOO=bar"),
		},
	},
}
