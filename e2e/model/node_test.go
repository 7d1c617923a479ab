package model

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// network is the name of the only one.
const network = "n"

// node is a machine with one network: its disk, its boot and its namespaces.
type node struct {
	root      string // all that is on its disk
	dataDir   string // of bolt-local
	parent    string // of host-local's directories
	hostLocal string // the binary
	sets      []addressSet
	boot      int
	sees      int    // the boot that the next call sees, 0 for the running one
	version   string // of bolt-local
	spaces    spaces
	warned    []string
}

// addressSet is a range set of one range, with all that may be given out of it.
type addressSet struct {
	subnet    string
	addresses []netip.Addr
}

// They are so small that they fill up and wrap.
var (
	ipv4 = addressSet{"10.0.0.0/24", run("10.0.0.2", 4)}
	ipv6 = addressSet{"fd00::/64", run("fd00::2", 3)}
)

// run lists n addresses from the first on.
func run(first string, n int) []netip.Addr {
	list := []netip.Addr{netip.MustParseAddr(first)}
	for len(list) < n {
		list = append(list, list[len(list)-1].Next())
	}
	return list
}

// newNode makes a node whose disk is root. Shared, both plugins are given the
// same dataDir, as where only the type of a configuration was changed.
func newNode(root, hostLocal string, shared bool, sets ...addressSet) *node {
	n := &node{
		root:      root,
		dataDir:   filepath.Join(root, "data"),
		parent:    filepath.Join(root, "networks"),
		hostLocal: hostLocal,
		sets:      sets,
		boot:      1,
		version:   "1",
		spaces:    spaces{},
	}
	if shared {
		n.parent = n.dataDir
	}
	return n
}

// directory is where host-local keeps the network.
func (n *node) directory() string { return filepath.Join(n.parent, network) }

// bootID is what a call takes for the boot's.
func (n *node) bootID() string {
	if n.sees != 0 {
		return bootID(n.sees)
	}
	return bootID(n.boot)
}

func bootID(boot int) string { return fmt.Sprintf("boot-%06d", boot) }

func (n *node) store() *store.Store {
	return store.New(n.dataDir, store.Options{Writer: n.version, BootID: n.bootID, Warn: n.warn})
}

func (n *node) warn(line string) { n.warned = append(n.warned, line) }

// plugin is a new process of bolt-local.
func (n *node) plugin() *ipam.Plugin {
	p := &ipam.Plugin{
		Namespaces: n.spaces,
		Now:        func() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) },
		BootTime:   func() time.Duration { return time.Minute },
		Orphaned:   func() bool { return false },
		Warn:       n.warn,
	}
	p.Open = func(cfg *ipam.Config) ipam.State { return n.state(cfg) }
	return p
}

// state is the one of a call with this configuration, nil for the command line.
func (n *node) state(cfg *ipam.Config) migrate.State {
	stale := (&ipam.Plugin{Namespaces: n.spaces}).Stale
	return migrate.State{Store: n.store(), Config: cfg, Namespaces: n.spaces, Stale: stale, Warn: n.warn}
}

// conf is the network's configuration, with more of its top-level fields.
type conf struct {
	target    engine.Phase
	parent    string // another than the node's, if not empty
	requested netip.Addr
	more      map[string]any
}

// json is what the plugin of the given type gets on stdin.
func (n *node) json(plugin string, c conf) []byte {
	var ranges [][]map[string]string
	for _, s := range n.sets {
		ranges = append(ranges, []map[string]string{{
			"subnet":     s.subnet,
			"rangeStart": s.addresses[0].String(),
			"rangeEnd":   s.addresses[len(s.addresses)-1].String(),
		}})
	}
	ipam := map[string]any{"type": plugin, "ranges": ranges, "dataDir": n.parent}
	if plugin == boltLocal {
		ipam["dataDir"] = n.dataDir
		ipam["cniCacheDirs"] = []string{filepath.Join(n.root, "no-cache")} // not the machine's own
		migration := map[string]string{}
		if n.parent != n.dataDir {
			migration["hostLocalDir"] = n.parent
		}
		if c.parent != "" {
			migration["hostLocalDir"] = c.parent
		}
		if c.target != "" {
			migration["phase"] = string(c.target)
		}
		ipam["migration"] = migration
	}
	doc := map[string]any{"cniVersion": "1.1.0", "name": network, "type": "bridge", "ipam": ipam}
	if c.requested.IsValid() {
		doc["args"] = map[string]any{"cni": map[string]any{"ips": []netip.Addr{c.requested}}}
	}
	for field, value := range c.more {
		doc[field] = value
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // of strings and maps alone
	}
	return b
}

const boltLocal = "bolt-local"

func (n *node) call(att record.Attachment, c conf) ipam.Call {
	return ipam.Call{
		ContainerID: att.ContainerID,
		IfName:      att.IfName,
		NetNS:       n.spaces.path(att.ContainerID),
		Stdin:       n.json(boltLocal, c),
	}
}

// add returns the addresses that ADD answers with.
func (n *node) add(att record.Attachment, c conf) ([]netip.Addr, error) {
	result, err := n.plugin().Add(n.call(att, c))
	if err != nil {
		return nil, err
	}
	r, err := current.GetResult(result)
	if err != nil {
		return nil, err
	}
	return addressesOf(r), nil
}

func addressesOf(r *current.Result) []netip.Addr {
	var list []netip.Addr
	for _, ip := range r.IPs {
		a, _ := netip.AddrFromSlice(ip.Address.IP)
		list = append(list, a.Unmap())
	}
	return list
}
