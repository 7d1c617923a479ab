package powercut

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

const (
	network = "pods"
	ifname  = "eth0"

	// Where a node keeps its files, below its root.
	dataName   = "bolt-local"
	parentName = "networks" // of host-local's directories
	hostName   = parentName + "/" + network
	besideName = parentName + "/.bolt-local-" + network
)

// Each set gives out so many addresses, so that they can all be asked for.
const setSize = 5

var (
	ipv4 = []set{{"10.98.0.0/24", "10.98.0.2", "10.98.0.6"}}
	both = append(ipv4[:1:1], set{"fd98::/64", "fd98::2", "fd98::6"})
)

type set struct{ Subnet, RangeStart, RangeEnd string }

// The boots of a node: the one before, and the one after the power cut. The one
// in which calls are recorded is the machine's.
const (
	bootBefore = "11111111-2222-3333-4444-555555555555"
	bootAfter  = "99999999-8888-7777-6666-555555555555"
	bootLast   = "aaaaaaaa-9999-8888-7777-666666666666" // after a second one
)

var bootNow = func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}()

// node is a machine with one network. Its verbs are those of the package, in a
// boot of its own; the recorded calls are those of the binaries.
type node struct {
	root                 string
	sets                 []set
	boltLocal, hostLocal string
	self                 string // this binary: bolt-local in another boot than the machine's
	boot                 string
}

// newNode is a node whose files are in memory where that is to be had: thousands
// of trees are written.
func newNode(t *testing.T, sets []set) node {
	t.Helper()
	root := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var fs unix.Statfs_t
	if unix.Statfs("/dev/shm", &fs) == nil && fs.Type == unix.TMPFS_MAGIC {
		if dir, err := os.MkdirTemp("/dev/shm", "bolt-local-powercut-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			root = dir
		}
	}
	return node{
		root:      root,
		sets:      sets,
		boltLocal: testenv.Binary(t, lab.BoltLocal),
		hostLocal: testenv.Binary(t, lab.HostLocal),
		self:      self,
		boot:      bootNow,
	}
}

func (n node) in(boot string) node {
	n.boot = boot
	return n
}

func (n node) path(name string) string { return filepath.Join(n.root, name) }

// config is what a plugin gets on stdin.
func (n node) config(plugin string, target engine.Phase, keep []string) []byte {
	type object = map[string]any
	section := object{"type": plugin, "dataDir": n.path(parentName)}
	if plugin == lab.BoltLocal {
		migration := object{"hostLocalDir": n.path(parentName)}
		if target != "" {
			migration["phase"] = target
		}
		section = object{"type": plugin, "dataDir": n.path(dataName), "cniCacheDirs": []string{n.path("results")}, "migration": migration}
	}
	var ranges [][]object
	for _, s := range n.sets {
		ranges = append(ranges, []object{{"subnet": s.Subnet, "rangeStart": s.RangeStart, "rangeEnd": s.RangeEnd}})
	}
	section["ranges"] = ranges
	doc := object{"cniVersion": "1.1.0", "name": network, "type": "bridge", "ipam": section}
	if keep != nil {
		valid := []object{}
		for _, id := range keep {
			valid = append(valid, object{"containerID": id, "ifname": ifname})
		}
		doc["cni.dev/valid-attachments"] = valid
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // of strings alone
	}
	return b
}

// nothing is a world without network namespaces: that of a reboot.
type nothing struct{}

func (nothing) Identify(path string) record.NetNS { return record.NetNS{Path: path} }
func (nothing) IsOwn(record.NetNS) bool           { return false }
func (nothing) Alive(record.NetNS) bool           { return false }
func (nothing) Dead(record.NetNS) bool            { return false }
func (nothing) Elsewhere(record.NetNS) bool       { return false }
func (nothing) Unsure() error                     { return nil }

func (n node) store() *store.Store {
	return store.New(n.path(dataName), store.Options{
		Writer: "powercut", BootID: func() string { return n.boot }, LockTimeout: 2 * time.Second,
	})
}

func (n node) state(cfg *ipam.Config) migrate.State {
	return migrate.State{
		Store: n.store(), Config: cfg, Namespaces: nothing{},
		Stale: (&ipam.Plugin{Namespaces: nothing{}}).Stale, Warn: func(string) {},
	}
}

// plugin is a new process of bolt-local.
func (n node) plugin() *ipam.Plugin {
	return &ipam.Plugin{
		Open:       func(cfg *ipam.Config) ipam.State { return n.state(cfg) },
		Namespaces: nothing{},
		Now:        time.Now,
		BootTime:   func() time.Duration { return time.Minute },
		Orphaned:   func() bool { return false },
		Warn:       func(string) {},
	}
}

func (n node) call(id string, target engine.Phase) ipam.Call {
	return ipam.Call{ContainerID: id, IfName: ifname, NetNS: n.netns(id), Stdin: n.config(lab.BoltLocal, target, nil)}
}

// netns is a path that leads nowhere, so nothing is told from it.
func (n node) netns(id string) string { return n.path("no-netns/" + id) }

func (n node) add(id string, target engine.Phase) ([]netip.Addr, error) {
	result, err := n.plugin().Add(n.call(id, target))
	if err != nil {
		return nil, err
	}
	r, err := current.GetResult(result)
	if err != nil {
		return nil, err
	}
	return addresses(r), nil
}

func addresses(r *current.Result) []netip.Addr {
	var list []netip.Addr
	for _, ip := range r.IPs {
		a, _ := netip.AddrFromSlice(ip.Address.IP)
		list = append(list, a.Unmap())
	}
	return list
}

func (n node) del(id string, target engine.Phase) error { return n.plugin().Del(n.call(id, target)) }

func (n node) status(target engine.Phase) error { return n.plugin().Status(n.call("", target)) }

// full tells that an ADD failed for want of addresses, and of nothing else.
func full(err error) bool {
	return err != nil && ipam.CodeOf(err) == ipam.CodeTryAgain && !errors.Is(err, store.ErrLocked)
}
