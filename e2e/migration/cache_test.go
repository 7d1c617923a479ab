package migration

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/containernetworking/cni/libcni"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// attached is one interface of a container that a runtime attached.
type attached struct {
	containerID, ifname string
	ns                  *lab.Namespace
	addr                netip.Addr
}

// attachByLibcni lets libcni attach an interface with host-local, and so write
// its cache of results. host-local can be called without a main plugin.
func (n network) attachByLibcni(t *testing.T, containerID, ifname string, ns *lab.Namespace) attached {
	t.Helper()
	conf := object{}
	if err := json.Unmarshal(n.theirs().config, &conf); err != nil {
		t.Fatal(err)
	}
	conf["type"] = lab.HostLocal
	data, err := json.Marshal(object{"cniVersion": "1.1.0", "name": n.name, "plugins": []object{conf}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := libcni.NetworkConfFromBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	runtime := libcni.NewCNIConfigWithCacheDir([]string{filepath.Dir(n.hostLocal)}, filepath.Dir(n.cacheDir), nil)
	rt := &libcni.RuntimeConf{ContainerID: containerID, NetNS: ns.Path, IfName: ifname}
	got, err := runtime.AddNetworkList(t.Context(), list, rt)
	if err != nil {
		t.Fatal(err)
	}
	result, err := current.NewResultFromResult(got)
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := netip.AddrFromSlice(result.IPs[0].Address.IP)
	return attached{containerID, ifname, ns, addr.Unmap()}
}

// loseIfNames makes the files those of a host-local before v0.8.0.
func (n network) loseIfNames(t *testing.T, all ...attached) {
	t.Helper()
	for _, a := range all {
		path := filepath.Join(n.dir(), a.addr.String())
		if err := os.WriteFile(path, []byte(a.containerID), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// line is what dump shows of an address in this boot.
type line struct {
	ip, containerID, ifname, ns, origin string
}

func (l line) addr() netip.Addr { return netip.MustParseAddr(l.ip) }

// expectLines checks what dump shows, in the order of addresses.
func (n network) expectLines(t *testing.T, want ...line) {
	t.Helper()
	var got []line
	for _, a := range n.stored(t).Allocations {
		got = append(got, line{a.IP.String(), a.ContainerID, a.IfName, a.NetNS, a.Origin})
	}
	want = slices.SortedFunc(slices.Values(want), func(a, b line) int { return a.addr().Compare(b.addr()) })
	if !slices.Equal(got, want) {
		t.Errorf("dump shows\n%+v\nwant\n%+v", got, want)
	}
}

func (a attached) as(origin string) line {
	return line{a.addr.String(), a.containerID, a.ifname, a.ns.Path, origin}
}

// unnamed is what is known without a witness.
func (a attached) unnamed() line { return line{a.addr.String(), a.containerID, "", "", "host-local"} }

func TestIDOnlyFilesAreCompletedFromLibcnisCache(t *testing.T) {
	n := newNetwork(t, t.TempDir())
	web := n.attachByLibcni(t, "web", "eth0", testenv.Namespace(t, "web"))
	twoNS := testenv.Namespace(t, "two")
	eth0, net1 := n.attachByLibcni(t, "two", "eth0", twoNS), n.attachByLibcni(t, "two", "net1", twoNS)
	gone := n.attachByLibcni(t, "gone", "eth0", testenv.Namespace(t, "gone"))
	n.loseIfNames(t, web, eth0, net1, gone)
	if err := gone.ns.Close(); err != nil { // the cache outlives a lost DEL
		t.Fatal(err)
	}

	ours := n.ours(switched)
	ours.try(t, ours.addTaken(web.addr))
	n.expectLines(t, web.as("host-local"), eth0.as("host-local"), net1.as("host-local"), gone.unnamed())

	call := ours.call("DEL", "two")
	call.IfName, call.NetNS = "net1", twoNS.Path
	ours.run(t, call)
	n.expectLines(t, web.as("host-local"), eth0.as("host-local"), gone.unnamed())
	if _, there := n.reservations(t)[net1.addr.String()]; there {
		t.Errorf("the file of %s is left", net1.addr)
	}
	ours.del(t, "gone")
	n.expectLines(t, web.as("host-local"), eth0.as("host-local"))
}

func TestWithoutAWitnessTheInterfacesOfOneContainerStayApart(t *testing.T) {
	n := newNetwork(t, t.TempDir())
	ns := testenv.Namespace(t, "two")
	eth0, net1 := n.attachByLibcni(t, "two", "eth0", ns), n.attachByLibcni(t, "two", "net1", ns)
	n.loseIfNames(t, eth0, net1)
	n.cacheDir = filepath.Join(t.TempDir(), "nowhere")

	ours := n.ours(switched)
	del := ours.call("DEL", "two")
	del.NetNS = ns.Path
	ours.run(t, del) // which of them is eth0 cannot be told
	n.expectLines(t, eth0.unnamed(), net1.unnamed())
	p := n.ours(switched, object{"prevResult": object{
		"cniVersion": "1.1.0", "ips": []object{{"address": net1.addr.String() + "/24"}},
	}})
	del = p.call("DEL", "two")
	del.IfName, del.NetNS = "net1", ns.Path
	p.run(t, del)
	n.expectLines(t, eth0.unnamed())

	del.IfName, del.NetNS, del.Config = "eth0", "", ours.config // the container is gone
	ours.run(t, del)
	n.expectLines(t)
}

// The data directory was lost, or another IPAM plugin was here before: the cache
// alone knows who lives. legacy does what host-local does, and does not ask it.
func TestANewNetworkIsBornWithWhatLibcnisCacheKnows(t *testing.T) {
	for _, target := range []string{noTarget, expand, switched, contract} {
		t.Run("target "+target, func(t *testing.T) {
			n := newNetwork(t, t.TempDir())
			web := n.attachByLibcni(t, "web", "eth0", testenv.Namespace(t, "web"))
			gone := n.attachByLibcni(t, "gone", "eth0", testenv.Namespace(t, "gone"))
			db := n.attachByLibcni(t, "db", "eth0", testenv.Namespace(t, "db"))
			if err := gone.ns.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(n.parent); err != nil {
				t.Fatal(err)
			}
			ours := n.ours(target)
			pods := held{"web": web.addr, "db": db.addr}
			pods.add(t, ours, "new")
			pods.add(t, ours, "newer")
			n.expectDump(t, pods)
			phase := target
			if target == noTarget {
				phase = contract
			}
			n.expectIn(t, phase, pods)
			pods.del(t, ours, "web")
			pods.add(t, n.ours(phase), "newest")
			n.expectDump(t, pods)
		})
	}
}
