package ipam_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// node runs the verbs on a real checkpoint, with a boot id, clocks and network
// namespaces of its own.
type node struct {
	dir    string
	boot   int
	spaces spaces
	parent bool // the calling process has died
	warned []string
	store  *store.Store
}

// spaces are the living namespaces: path to inode.
type spaces map[string]uint64

func (s spaces) Identify(path string) record.NetNS {
	return record.NetNS{Path: path, Inode: s[path], MountNS: 1}
}
func (s spaces) IsOwn(ns record.NetNS) bool  { return ns.Path == "/own" }
func (s spaces) Alive(ns record.NetNS) bool  { return ns.Inode != 0 && s[ns.Path] == ns.Inode }
func (s spaces) Unsure() error               { return nil }
func (s spaces) Elsewhere(record.NetNS) bool { return false }
func (s spaces) Dead(ns record.NetNS) bool   { return ns.Inode != 0 && s[ns.Path] != ns.Inode }

func newNode(dir string) *node {
	n := &node{dir: filepath.Join(dir, "data"), boot: 1, spaces: spaces{}}
	n.store = store.New(n.dir, store.Options{
		Writer: "test",
		BootID: func() string { return fmt.Sprint("boot-", n.boot) },
		Warn:   func(line string) { n.warned = append(n.warned, line) },
	})
	return n
}

func (n *node) plugin() *ipam.Plugin {
	p := &ipam.Plugin{
		Namespaces: n.spaces,
		Now:        func() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) },
		BootTime:   func() time.Duration { return time.Minute },
		Orphaned:   func() bool { return n.parent },
		Warn:       func(line string) { n.warned = append(n.warned, line) },
	}
	p.Open = func(cfg *ipam.Config) ipam.State {
		return migrate.State{Store: n.store, Config: cfg, Namespaces: n.spaces, Stale: p.Stale, Warn: p.Warn}
	}
	return p
}

func (n *node) call(id, conf string) ipam.Call {
	return ipam.Call{ContainerID: id, IfName: "eth0", NetNS: "/ns/" + id, Stdin: []byte(strings.ReplaceAll(conf, "$D", n.dir))}
}

// add returns the addresses that an ADD answers with.
func (n *node) add(id, conf string) ([]netip.Addr, error) { return n.addWith(n.call(id, conf)) }

func (n *node) addWith(call ipam.Call) ([]netip.Addr, error) {
	result, err := n.plugin().Add(call)
	if err != nil {
		return nil, err
	}
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

// held maps each address to its container, and verifies the checkpoint.
func (n *node) held(t interface{ Fatal(...any) }) map[string]string {
	held := map[string]string{}
	err := n.store.Read(func(tx *store.Tx) error {
		if err := tx.Verify(); err != nil {
			return err
		}
		return tx.Network("n").Each(func(a record.Allocation) error {
			held[a.Addr.String()] = a.Holders[0].ContainerID
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// conf is a network configuration with ipam fields besides type and dataDir.
func conf(fields string) string {
	return `{"cniVersion":"1.0.0","name":"n","type":"bridge","ipam":{"type":"bolt-local","dataDir":"$D",` + fields + `}}`
}

const (
	net24 = `"subnet":"10.0.0.0/24"`
	net30 = `"subnet":"10.0.0.0/30"` // one address: .2
	dual  = `"ranges":[[{"subnet":"10.0.0.0/24"}],[{"subnet":"fd00::/64"}]]`
)

// with adds a top-level field to a configuration.
func with(conf, field string, value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return strings.TrimSuffix(conf, "}") + `,"` + field + `":` + string(b) + "}"
}

func mustAdd(t *testing.T, n *node, id, conf string, want ...string) {
	t.Helper()
	got, err := n.add(id, conf)
	if err != nil {
		t.Fatalf("ADD %s: %v", id, err)
	}
	if len(want) > 0 && fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("ADD %s got %v, want %v", id, got, want)
	}
}

func wantCode(t *testing.T, err error, code uint, words ...string) {
	t.Helper()
	if err == nil || ipam.CodeOf(err) != code {
		t.Fatalf("err = %v (code %d), want code %d", err, ipam.CodeOf(err), code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
}
