package migrate

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// State has paths in it: that of host-local's directory in the checkpoint, that
// of the data directory in the tombstone. Golden state names both by way of the
// working directory, so that they lead to wherever a test has copied it.
const (
	goldenData     = "/proc/self/cwd/data"
	goldenNetworks = "/proc/self/cwd/networks"
	goldenNetwork  = "podnet"
)

// The boots in which golden state was written, and one that it does not know.
const (
	goldenBootOne   = "11111111-1111-4111-8111-111111111111"
	goldenBootTwo   = "22222222-2222-4222-8222-222222222222"
	goldenBootAfter = "99999999-9999-4999-8999-999999999999"
)

// goldenNode runs the verbs in the working directory.
type goldenNode struct {
	t      *testing.T
	boot   string
	writer string
	warned []string
}

// newGoldenNode makes dir the working directory.
func newGoldenNode(t *testing.T, dir, boot, writer string) *goldenNode {
	t.Helper()
	t.Chdir(dir)
	return &goldenNode{t: t, boot: boot, writer: writer}
}

// goldenSpaces tells namespaces apart by their paths. None is alive, and none
// certainly dead.
type goldenSpaces struct{}

func (goldenSpaces) Identify(path string) record.NetNS {
	if path == "" {
		return record.NetNS{}
	}
	h := fnv.New32a()
	h.Write([]byte(path))
	return record.NetNS{Path: path, Inode: 4026532000 + uint64(h.Sum32()%1000), MountNS: 4026531841}
}
func (goldenSpaces) IsOwn(record.NetNS) bool     { return false }
func (goldenSpaces) Alive(record.NetNS) bool     { return false }
func (goldenSpaces) Dead(record.NetNS) bool      { return false }
func (goldenSpaces) Elsewhere(record.NetNS) bool { return false }
func (goldenSpaces) Unsure() error               { return nil }

func (n *goldenNode) warn(line string) { n.warned = append(n.warned, line) }

func (n *goldenNode) store() *store.Store {
	return store.New(goldenData, store.Options{
		LockTimeout: 10 * time.Second,
		Writer:      n.writer,
		Warn:        n.warn,
		BootID:      func() string { return n.boot },
	})
}

// state is that of a call with this configuration, nil for the command line.
func (n *goldenNode) state(cfg *ipam.Config) State {
	p := ipam.Plugin{Namespaces: goldenSpaces{}}
	return State{Store: n.store(), Config: cfg, Namespaces: goldenSpaces{}, Stale: p.Stale, Warn: n.warn}
}

func (n *goldenNode) plugin() *ipam.Plugin {
	return &ipam.Plugin{
		Open:       func(cfg *ipam.Config) ipam.State { return n.state(cfg) },
		Namespaces: goldenSpaces{},
		Now:        func() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) },
		BootTime:   func() time.Duration { return 90 * time.Second },
		Orphaned:   func() bool { return false },
		Warn:       n.warn,
	}
}

// goldenNever are the addresses that goldenConf keeps back: gateways, excluded.
var goldenNever = []netip.Addr{
	netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.1.0.4"),
	netip.MustParseAddr("fd00:1::1"), netip.MustParseAddr("fd00:1::4"),
}

// goldenConf is a network's configuration with a phase, "" for none, and more
// fields at its top.
func goldenConf(network, phase string, more ...string) []byte {
	return fmt.Appendf(nil, `{"cniVersion":"1.0.0","name":%q,"type":"bridge",%s"ipam":{"type":"bolt-local","dataDir":%q,"cniCacheDirs":[],
"ranges":[[{"subnet":"10.1.0.0/24"}],[{"subnet":"fd00:1::/64"}]],"exclude":["10.1.0.4","fd00:1::4"],
"migration":{"phase":%q,"hostLocalDir":%q}}}`, network, strings.Join(more, ""), goldenData, phase, goldenNetworks)
}

func goldenCall(id, ifname string, conf []byte) ipam.Call {
	return ipam.Call{
		ContainerID: id, IfName: ifname, NetNS: "/var/run/netns/" + id, Stdin: conf,
		Args: fmt.Sprintf("K8S_POD_NAMESPACE=default;K8S_POD_NAME=%s;K8S_POD_UID=uid-%[1]s;K8S_POD_INFRA_CONTAINER_ID=%[1]s", id),
	}
}

// add returns the addresses that an ADD answers with.
func (n *goldenNode) add(id, ifname, phase string) ([]netip.Addr, error) {
	return n.addWith(goldenCall(id, ifname, goldenConf(goldenNetwork, phase)))
}

func (n *goldenNode) addWith(call ipam.Call) ([]netip.Addr, error) {
	result, err := n.plugin().Add(call)
	if err != nil {
		return nil, err
	}
	return goldenAddrs(result)
}

func goldenAddrs(result types.Result) ([]netip.Addr, error) {
	r, err := current.GetResult(result)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	for _, ip := range r.IPs {
		a, _ := netip.AddrFromSlice(ip.Address.IP)
		addrs = append(addrs, a.Unmap())
	}
	return addrs, nil
}

// del frees as for a container that is gone.
func (n *goldenNode) del(id, ifname string) error {
	call := goldenCall(id, ifname, goldenConf(goldenNetwork, ""))
	call.NetNS = ""
	return n.plugin().Del(call)
}

// gc frees all but what is listed.
func (n *goldenNode) gc(list ...record.Attachment) error {
	valid := make([]string, len(list))
	for i, att := range list {
		valid[i] = fmt.Sprintf(`{"containerID":%q,"ifname":%q}`, att.ContainerID, att.IfName)
	}
	list0 := fmt.Sprintf(`"cni.dev/valid-attachments":[%s],`, strings.Join(valid, ","))
	return n.plugin().GC(ipam.Call{Stdin: goldenConf(goldenNetwork, "", list0)})
}

func (n *goldenNode) check(id, ifname string) error {
	return n.plugin().Check(goldenCall(id, ifname, goldenConf(goldenNetwork, "")))
}

func (n *goldenNode) status() error {
	return n.plugin().Status(ipam.Call{Stdin: goldenConf(goldenNetwork, "")})
}

// advance and rollback are an operator's.
func (n *goldenNode) advance(force bool) (engine.Step, error) {
	return n.state(nil).Advance(goldenNetwork, force)
}

func (n *goldenNode) rollback(force bool) (engine.Step, error) {
	return n.state(nil).Rollback(goldenNetwork, force)
}

// must is for what a test has no use without.
func (n *goldenNode) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatalf("%v\nwarnings: %s", err, strings.Join(n.warned, "\n"))
	}
}

func (n *goldenNode) mustAdd(id, phase string) {
	n.t.Helper()
	_, err := n.add(id, "eth0", phase)
	n.must(err)
}

// hostLocal writes what host-local would: the file of an address, its lock, and
// the address as the last one given from that range set. An ifname of "" is
// what its old versions left out.
func (n *goldenNode) hostLocal(addr, id, ifname string, set int) {
	n.t.Helper()
	content := id
	if ifname != "" {
		content += "\r\n" + ifname
	}
	n.write(addr, content, 0o600)
	n.write("lock", "", 0o750)
	n.write(fmt.Sprint("last_reserved_ip.", set), addr, 0o600)
}

// write makes or truncates a file in host-local's directory.
func (n *goldenNode) write(name, content string, mode os.FileMode) {
	n.t.Helper()
	dir := filepath.Join(goldenNetworks, goldenNetwork)
	n.must(os.MkdirAll(dir, 0o755))
	n.must(os.WriteFile(filepath.Join(dir, name), []byte(content), mode))
}

// sound asks for a checkpoint without a fault and, where both forms are
// written, for two that say the same.
func (n *goldenNode) sound() {
	n.t.Helper()
	n.verify()
	n.must(n.store().Read(func(tx *store.Tx) error {
		return n.state(nil).ViewIn(tx, goldenNetwork, true, func(v engine.View) error {
			if v.Changed || len(v.Differences) > 0 {
				n.t.Errorf("in phase %s: changed by another %t, %q", v.Progress.Phase, v.Changed, v.Differences)
			}
			return nil
		})
	}))
}

func (n *goldenNode) verify() {
	n.t.Helper()
	n.must(n.store().Read((*store.Tx).Verify))
}

// beside lists what is in the parent of host-local's directory.
func (n *goldenNode) beside() []string {
	n.t.Helper()
	entries, err := os.ReadDir(goldenNetworks)
	n.must(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}
