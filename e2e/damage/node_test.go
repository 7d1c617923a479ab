package damage

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// The networks of a node: one is in contract, and its tombstone stands where
// host-local's directory would be; the other is in switch, and has the directory.
const (
	shut = "shutnet"
	open = "opennet"
)

var networks = []string{shut, open}

// The boots of the node and of another one.
const (
	thisBoot    = "boot-000001"
	anotherBoot = "boot-999999"
)

// node is a machine with two networks. host-local's directories are in
// bolt-local's own, as where only the type of a configuration was changed.
type node struct {
	boot     string
	dataDir  string
	cacheDir string // libcni's
	spaces   spaces
	subnets  map[string]netip.Prefix
	room     map[string]int // how many addresses a network has
	nowhere  bool           // containers have namespaces that nobody can look at
	warned   []string
	next     int // the number of the next container
}

func newNode(root, boot string) *node {
	return &node{
		boot:     boot,
		dataDir:  filepath.Join(root, "data"),
		cacheDir: filepath.Join(root, "results"),
		spaces:   spaces{},
		subnets:  map[string]netip.Prefix{shut: netip.MustParsePrefix("10.64.0.0/16"), open: netip.MustParsePrefix("10.65.0.0/16")},
		room:     map[string]int{},
	}
}

func (n *node) file(name string) string { return filepath.Join(n.dataDir, name) }

func (n *node) store() *store.Store {
	return store.New(n.dataDir, store.Options{Writer: "1", BootID: func() string { return n.boot }, Warn: n.warn, Stuck: stuck})
}

// stuck ends the process: a small file is looked at before, so that no call on
// it comes to no end.
func stuck(err error) { panic(err) }

func (n *node) warn(line string) { n.warned = append(n.warned, line) }

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

// state is that of a call with this configuration, nil for the command line.
func (n *node) state(cfg *ipam.Config) migrate.State {
	stale := (&ipam.Plugin{Namespaces: n.spaces}).Stale
	return migrate.State{Store: n.store(), Config: cfg, Namespaces: n.spaces, Stale: stale, Warn: n.warn}
}

// address is the i-th that a network may give out.
func (n *node) address(network string, i int) netip.Addr {
	a := n.subnets[network].Addr().As4()
	i += 2
	return netip.AddrFrom4([4]byte{a[0], a[1], byte(i >> 8), byte(i)})
}

// container makes a container that lives.
func (n *node) container() record.Attachment {
	n.next++
	att := record.Attachment{ContainerID: fmt.Sprintf("%024x", n.next), IfName: "eth0"}
	if !n.nowhere {
		n.spaces[n.spaces.path(att.ContainerID)] = uint64(n.next)
	}
	return att
}

func (n *node) ends(att record.Attachment) { delete(n.spaces, n.spaces.path(att.ContainerID)) }

// holdings is who holds what in a network.
type holdings map[netip.Addr]record.Attachment

// sorted are the addresses in their order.
func (h holdings) sorted() []netip.Addr { return slices.SortedFunc(maps.Keys(h), netip.Addr.Compare) }

// of is the address of an attachment.
func (h holdings) of(att record.Attachment) netip.Addr {
	for addr, a := range h {
		if a == att {
			return addr
		}
	}
	return netip.Addr{}
}

// world is who holds what in all networks.
type world map[string]holdings

func (w world) clone() world {
	c := world{}
	for network, h := range w {
		c[network] = maps.Clone(h)
	}
	return c
}

// spaces are the living namespaces: path to inode.
type spaces map[string]uint64

func (s spaces) path(id string) string { return "/ns/" + id[max(0, len(id)-6):] }

func (s spaces) Identify(path string) record.NetNS {
	return record.NetNS{Path: path, Inode: s[path], MountNS: 1}
}
func (s spaces) IsOwn(record.NetNS) bool     { return false }
func (s spaces) Alive(ns record.NetNS) bool  { return ns.Inode != 0 && s[ns.Path] == ns.Inode }
func (s spaces) Dead(ns record.NetNS) bool   { return ns.Inode != 0 && s[ns.Path] != ns.Inode }
func (s spaces) Elsewhere(record.NetNS) bool { return false }
func (s spaces) Unsure() error               { return nil }

// remember writes what libcni keeps of an attachment.
func (n *node) remember(network string, addr netip.Addr, att record.Attachment) error {
	if err := os.MkdirAll(n.cacheDir, 0o755); err != nil {
		return err
	}
	doc := fmt.Sprintf(`{"kind":"cniCacheV1","containerId":%q,"ifName":%q,"networkName":%q,"netns":%q,"result":{"cniVersion":"1.0.0","ips":[{"address":"%s/16"}]}}`,
		att.ContainerID, att.IfName, network, n.spaces.path(att.ContainerID), addr)
	name := network + "-" + att.ContainerID + "-" + att.IfName
	return os.WriteFile(filepath.Join(n.cacheDir, name), []byte(doc), 0o600)
}
