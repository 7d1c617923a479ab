package backfill

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bolt-local/bolt-local/store/record"
)

var (
	created = time.Unix(1_700_000_000, 0)
	web     = record.Pod{Namespace: "default", Name: "web", UID: "u1", InfraContainerID: "box"}
	there   = record.NetNS{Path: "/run/netns/box", Inode: 7, MountNS: 1}
)

func ip(text string) netip.Addr { return netip.MustParseAddr(text) }

// nets has podnet, 10.0.0.0/24 and fd00::/120, and othernet, 10.0.0.0/16.
func nets(change ...func(podnet, othernet *Network)) []Network {
	nobody := func(netip.Addr) (record.Allocation, bool) { return record.Allocation{}, false }
	set := func(lo, hi string) record.RangeSet {
		return record.RangeSet{{Start: ip(lo), End: ip(hi)}}
	}
	all := []Network{
		{Name: "othernet", Sets: []record.RangeSet{set("10.0.0.1", "10.0.255.254")}, Stored: nobody},
		{Name: "podnet", Sets: []record.RangeSet{set("10.0.0.1", "10.0.0.254"), set("fd00::1", "fd00::ff")}, Stored: nobody},
	}
	for _, c := range change {
		c(&all[1], &all[0])
	}
	return all
}

func box(interfaces ...Interface) Sandbox {
	return Sandbox{ID: "box", NetNS: there, Pod: web, CreatedAt: created, Interfaces: interfaces}
}

func on(name string, addrs ...string) Interface {
	i := Interface{Name: name}
	for _, a := range addrs {
		i.Addrs = append(i.Addrs, ip(a))
	}
	return i
}

func cached(id, ifname string, alive bool, addrs ...string) Cached {
	c := Cached{Holder: record.Holder{Attachment: record.Attachment{ContainerID: id, IfName: ifname}}, Alive: alive}
	if alive {
		c.Holder.NetNS = record.NetNS{Path: "/run/netns/" + id, Inode: 9, MountNS: 1}
	}
	for _, a := range addrs {
		c.Addrs = append(c.Addrs, ip(a))
	}
	return c
}

func holds(addr, id, network string) func(*Network) {
	return func(n *Network) {
		n.Stored = func(a netip.Addr) (record.Allocation, bool) {
			h := record.Holder{Attachment: record.Attachment{ContainerID: id, IfName: "eth0"}}
			if network == "guess" {
				h.Unknown = []string{record.UnknownNetwork}
			}
			return record.Allocation{Addr: a, Holders: []record.Holder{h}}, a == ip(addr)
		}
	}
}

// said is a claim in short.
type said struct {
	network, addr, id, ifname string
	origin                    record.Origin
	guess                     bool
}

func TestWhoUsesWhichAddress(t *testing.T) {
	for name, c := range map[string]struct {
		networks []Network
		running  []Sandbox
		notReady []string
		want     []said
	}{
		"the cache alone knows the network": {
			networks: nets(func(p, _ *Network) { p.Cached = []Cached{cached("box", "eth0", false, "10.0.0.5", "fd00::5")} }),
			running:  []Sandbox{box(on("eth0", "10.0.0.5", "fd00::5"))},
			want: []said{
				{"podnet", "10.0.0.5", "box", "eth0", record.OriginCNICache, false},
				{"podnet", "fd00::5", "box", "eth0", record.OriginCNICache, false},
			},
		},
		"what multus' delegate has is in the cache alone": {
			networks: nets(func(_, o *Network) { o.Cached = []Cached{cached("box", "net1", false, "10.0.9.9")} }),
			running:  []Sandbox{box(on("eth0", "10.0.0.5"))},
			want: []said{
				{"othernet", "10.0.0.5", "box", "eth0", record.OriginCRI, true},
				{"othernet", "10.0.9.9", "box", "net1", record.OriginCNICache, false},
				{"podnet", "10.0.0.5", "box", "eth0", record.OriginCRI, true},
			},
		},
		"a cached result that the runtime contradicts is none": {
			networks: nets(func(p, _ *Network) { p.Cached = []Cached{cached("box", "eth0", false, "10.0.0.4")} }),
			running:  []Sandbox{box(on("eth0", "10.0.77.5"))},
			want:     []said{{"othernet", "10.0.77.5", "box", "eth0", record.OriginCRI, true}},
		},
		"without a cache it is a guess, also where one network alone has it": {
			networks: nets(),
			running:  []Sandbox{box(on("eth0", "fd00::5"))},
			want:     []said{{"podnet", "fd00::5", "box", "eth0", record.OriginCRI, true}},
		},
		"and in every network that has it in a range": {
			networks: nets(),
			running:  []Sandbox{box(on("", "10.0.0.5"))},
			want: []said{
				{"othernet", "10.0.0.5", "box", "", record.OriginCRI, true},
				{"podnet", "10.0.0.5", "box", "", record.OriginCRI, true},
			},
		},
		"where it is stored for certain no other network has it": {
			networks: nets(func(p, _ *Network) { holds("10.0.0.5", "box", "podnet")(p) }),
			running:  []Sandbox{box(on("eth0", "10.0.0.5"))},
			want:     []said{{"podnet", "10.0.0.5", "box", "eth0", record.OriginCRI, false}},
		},
		"a stored guess is no certainty": {
			networks: nets(func(p, _ *Network) { holds("10.0.0.5", "box", "guess")(p) }),
			running:  []Sandbox{box(on("eth0", "10.0.0.5"))},
			want: []said{
				{"othernet", "10.0.0.5", "box", "eth0", record.OriginCRI, true},
				{"podnet", "10.0.0.5", "box", "eth0", record.OriginCRI, true},
			},
		},
		"another container's allocation is no certainty": {
			networks: nets(func(p, _ *Network) { holds("10.0.0.5", "another", "podnet")(p) }),
			running:  []Sandbox{box(on("eth0", "10.0.0.5"))},
			want: []said{
				{"othernet", "10.0.0.5", "box", "eth0", record.OriginCRI, true},
				{"podnet", "10.0.0.5", "box", "eth0", record.OriginCRI, true},
			},
		},
		"an address in no range is not ours": {
			networks: nets(),
			running:  []Sandbox{box(on("eth0", "192.168.0.5"))},
		},
		"podman's container lives, and the runtime does not know it": {
			networks: nets(func(p, _ *Network) { p.Cached = []Cached{cached("podman", "eth0", true, "10.0.0.6")} }),
			want:     []said{{"podnet", "10.0.0.6", "podman", "eth0", record.OriginCNICache, false}},
		},
		"one that is gone has left its cached result": {
			networks: nets(func(p, _ *Network) { p.Cached = []Cached{cached("old", "eth0", false, "10.0.0.6")} }),
		},
		"a sandbox that is not ready adds nothing, even if its namespace is there": {
			networks: nets(func(p, _ *Network) { p.Cached = []Cached{cached("old", "eth0", true, "10.0.0.6")} }),
			notReady: []string{"old"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []said
			for _, c := range Claims(c.networks, c.running, c.notReady) {
				got = append(got, said{c.Network, c.Addr.String(), c.Holder.ContainerID, c.Holder.IfName, c.Holder.Origin, c.Holder.Guessed()})
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(said{})); diff != "" {
				t.Errorf("claims differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAClaimTellsAllThatItsWitnessesKnow(t *testing.T) {
	networks := nets(func(p, _ *Network) { p.Cached = []Cached{cached("box", "eth0", false, "10.0.0.5")} })
	got := Claims(networks, []Sandbox{box(on("", "fd00::5"))}, nil)
	want := []Claim{
		{"podnet", ip("10.0.0.5"), record.Holder{
			Attachment: record.Attachment{ContainerID: "box", IfName: "eth0"},
			Origin:     record.OriginCNICache, AllocatedAt: created, NetNS: there, Pod: web,
		}},
		{"podnet", ip("fd00::5"), record.Holder{
			Attachment: record.Attachment{ContainerID: "box"},
			Origin:     record.OriginCRI, AllocatedAt: created, NetNS: there, Pod: web,
			Unknown: []string{record.UnknownIfName, record.UnknownNetwork},
		}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(record.Holder{}), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("claims differ (-want +got):\n%s", diff)
	}
}

func TestAGuessIsWrongOnceAnotherNetworkHasTheAddress(t *testing.T) {
	networks := nets(func(p, o *Network) {
		p.Cached = []Cached{cached("box", "eth0", false, "10.0.0.5")}
		holds("10.0.0.5", "box", "guess")(o)
	})
	claims := Claims(networks, []Sandbox{box(on("eth0", "10.0.0.5"))}, nil)
	want := []Guess{{"othernet", ip("10.0.0.5"), "box"}}
	if diff := cmp.Diff(want, Wrong(networks, claims), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("guesses differ (-want +got):\n%s", diff)
	}
	if wrong := Wrong(nets(func(_, o *Network) { holds("10.0.0.5", "another", "guess")(o) }), claims); len(wrong) > 0 {
		t.Errorf("another container's guess is wrong: %v", wrong)
	}
}
