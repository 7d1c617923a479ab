package differential

import (
	"encoding/json"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// verb is a call without a container.
func verb(name, want string) action { return action{step: step{verb: name}, want: want} }

// TestListedDifferences shows each difference that a random run cannot bring
// out, or only by chance; those of a single ADD are among the configurations.
func TestListedDifferences(t *testing.T) { runScenarios(t, listedDifferences) }

var listedDifferences = []scenario{
	{
		name:   "a repeated ADD that asks for another address",
		reason: "the attachment would hold two addresses of one range set",
		ipam:   one24,
		actions: []action{
			add("a", "10.1.2.2/24"),
			add("a", "10.1.2.9/24").asking("10.1.2.9").but(refused),
			add("a", refused).asking("10.1.2.2").but("10.1.2.2/24"),
		},
	},
	{
		name:   "a repeated ADD with one more range set",
		reason: "what is missing is filled; host-local frees the live address while it fails",
		ipam:   `{"ranges": [[{"subnet": "10.2.2.0/24"}], [{"subnet": "10.1.2.0/24"}]]}`,
		actions: []action{
			add("a", "10.1.2.2/24").with(one24),
			add("a", refused).but("10.2.2.2/24 10.1.2.2/24"),
			add("b", "10.1.2.2/24").with(one24).asking("10.1.2.2").but(refused),
		},
	},
	{
		name:   "a failed ADD moves no cursor",
		reason: "a failed verb changes nothing",
		ipam:   `{"ranges": [[{"subnet": "10.1.2.0/24"}], [{"subnet": "10.1.3.0/30"}]]}`,
		actions: []action{
			add("a", "10.1.2.2/24 10.1.3.2/30"),
			add("b", refused),
			del("a"),
			add("c", "10.1.2.4/24 10.1.3.2/30").but("10.1.2.3/24 10.1.3.2/30"),
		},
	},
	{
		name:   "range sets that change places",
		reason: "the cursor belongs to the range set, not to its index",
		ipam:   `{"ranges": [[{"subnet": "10.1.2.0/24"}], [{"subnet": "10.1.3.0/24"}]]}`,
		actions: []action{
			add("a", "10.1.2.2/24 10.1.3.2/24"),
			del("a"),
			add("b", "10.1.3.2/24 10.1.2.2/24").but("10.1.3.3/24 10.1.2.3/24").
				with(`{"ranges": [[{"subnet": "10.1.3.0/24"}], [{"subnet": "10.1.2.0/24"}]]}`),
		},
	},
	{
		name:   "a range that grows",
		reason: "the cursor belongs to the range set, and this is another one",
		ipam:   one24,
		actions: []action{
			add("a", "10.1.2.2/24").with(`{"subnet": "10.1.2.0/24", "rangeEnd": "10.1.2.9"}`),
			del("a"),
			add("b", "10.1.2.3/24").but("10.1.2.2/24"),
		},
	},
	{
		name:   "a range that moves while an address is held",
		reason: "the attachment would hold two addresses",
		ipam:   one24,
		actions: []action{
			add("a", "10.1.2.2/24"),
			add("a", "10.3.0.2/24").with(`{"subnet": "10.3.0.0/24"}`).but(refused),
			add("a", refused).but("10.1.2.2/24"),
		},
	},
	{
		name:   "DEL under a broken configuration",
		reason: "a pod must be able to go, whatever became of the configuration",
		ipam:   one24,
		actions: []action{
			add("a", "10.1.2.2/24"),
			del("a").with(`{"ranges": [[{"subnet": "10.1.2.0/24"}, {"subnet": "10.1.2.0/24"}]]}`).failing(),
			del("a").with(`{}`).failing(),
			del("a").args("FOO=bar").failing(),
			add("b", refused).asking("10.1.2.2").but("10.1.2.2/24"),
		},
	},
	{
		name:   "CHECK under a broken configuration",
		reason: "it only looks at what is recorded",
		ipam:   one24,
		actions: []action{
			add("a", "10.1.2.2/24"),
			check("a"),
			check("a").with(`{}`).failing(),
			check("a").args("FOO=bar").failing(),
			check("b").expecting(refused),
		},
	},
	{
		name:    "K8S_POD_* without IgnoreUnknown",
		reason:  "kubelet's arguments are known here: they are recorded",
		ipam:    one24,
		actions: []action{add("a", refused).args("K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0").but("10.1.2.2/24")},
	},
	{
		name:   "GC without a list",
		reason: "no list is no statement about who lives",
		ipam:   one24,
		actions: []action{
			add("a", "10.1.2.2/24"),
			verb("GC", ok).but(refused),
			add("b", "10.1.2.2/24").asking("10.1.2.2").but(refused),
		},
	},
	{
		name:    "GC without ranges",
		reason:  "it goes by attachments",
		ipam:    `{}`,
		actions: []action{gc("a").failing()},
	},
	{
		name:    "GC with an entry that has no container id",
		reason:  "it frees what the list lacks, so the list has to be whole",
		ipam:    one24,
		actions: []action{gc("").but(refused)},
	},
	{
		name:   "STATUS of a full network",
		reason: "the spec asks for an error; host-local has no STATUS",
		ipam:   `{"subnet": "10.1.2.0/30"}`,
		actions: []action{
			verb("STATUS", ok),
			add("a", "10.1.2.2/30"),
			verb("STATUS", ok).but(refused),
			verb("STATUS", ok).with(`{"subnet": "10.1.2.0/30", "statusIgnoresExhaustion": true}`),
			del("a"),
			verb("STATUS", ok),
		},
	},
	{
		name:   "the gateway of one range inside another",
		reason: "a router has that address, whichever range names it",
		ipam: `{"ranges": [[{"subnet": "10.1.2.0/29", "rangeEnd": "10.1.2.3"},
			{"subnet": "10.1.2.0/29", "rangeStart": "10.1.2.4", "gateway": "10.1.2.2"}]]}`,
		actions: []action{
			add("a", "10.1.2.2/29").but("10.1.2.3/29"),
			add("b", "10.1.2.3/29").but("10.1.2.4/29"),
		},
	},
	{
		name:   "excluded addresses",
		reason: "a field of ours; host-local ignores it",
		ipam:   `{"subnet": "10.1.2.0/29", "exclude": ["10.1.2.2", "10.1.2.4/31"]}`,
		actions: []action{
			add("a", "10.1.2.2/29").but("10.1.2.3/29"),
			add("b", "10.1.2.3/29").but("10.1.2.6/29"),
			add("c", "10.1.2.4/29").but(refused),
		},
	},
}

// expecting sets what is expected of both.
func (a action) expecting(want string) action { a.want = want; return a }

// failing is a call that host-local refuses and bolt-local does not.
func (a action) failing() action { a.want = refused; return a.but(ok) }

// The codes tell a runtime what to do; host-local has 999 for all of these.
func TestErrorCodes(t *testing.T) {
	full := `{"subnet": "10.1.2.0/30"}`
	for _, test := range []struct {
		name string
		ipam string
		step step
		code uint
	}{
		{"a full range set is try again later", full, add("b", refused).step, types.ErrTryAgainLater},
		{"a bad range is a configuration error", `{"subnet": "10.1.2.1/30"}`, add("b", refused).step, types.ErrInvalidNetworkConfig},
		{"a subnet that is no string is a decoding error", `{"subnet": 7}`, add("b", refused).step, types.ErrDecodingFailure},
		{"an unknown argument is an environment error", full, add("b", refused).args("FOO=bar").step, types.ErrInvalidEnvironmentVariables},
		{"GC without a list is a configuration error", full, verb("GC", refused).step, types.ErrInvalidNetworkConfig},
		{"STATUS of a full network is not available", full, verb("STATUS", refused).step, types.ErrPluginNotAvailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, p := newPeers(t)
			add("a", "10.1.2.2/30").run(t, p, "the ADD that fills the network", "1.1.0", full)
			c := config{version: "1.1.0"}
			if err := json.Unmarshal([]byte(test.ipam), &c.ipam); err != nil {
				t.Fatal(err)
			}
			if o := p.run(t, c, test.step); o.ErrorCode() != test.code {
				t.Errorf("code %d, want %d: %v", o.ErrorCode(), test.code, o.Error())
			}
		})
	}
}

// host-local answers, then finds that it must not, and keeps the address.
func TestTheNamespaceOfThePluginItselfIsRefusedBeforeAnythingIsAllocated(t *testing.T) {
	_, p := newPeers(t)
	c := config{version: "1.1.0", ipam: object{"subnet": "10.1.2.0/24"}}
	call := p.call(c, add("a", refused).step)
	call.NetNS, call.AnyNetNS = "/proc/self/ns/net", false
	reply, err := call.Run(t.Context(), p.binary)
	if err != nil {
		t.Fatal(err)
	}
	if code := reply.ErrorCode(); code == 0 || code == internalCode {
		t.Errorf("code %d, want one that says what is wrong; stdout %s", code, reply.Stdout)
	}
	if held := p.dumped(t); len(held) > 0 {
		t.Errorf("%s holds %v", lab.BoltLocal, held)
	}
}
