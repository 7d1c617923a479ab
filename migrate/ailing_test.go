package migrate

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// ailing is a node whose files are damaged. host-local's directories are in the
// data directory, as with ipam.dataDir.
type ailing struct {
	t      *testing.T
	dir    string // the data directory
	cache  string // libcni's
	boot   string
	spaces livingSpaces
	warned []string
}

func newAiling(t *testing.T) *ailing {
	dir := t.TempDir()
	return &ailing{t: t, dir: filepath.Join(dir, "data"), cache: filepath.Join(dir, "results"), boot: "boot-000001", spaces: livingSpaces{}}
}

// livingSpaces are the namespaces that are there: path to inode.
type livingSpaces map[string]uint64

func (s livingSpaces) Identify(path string) record.NetNS {
	return record.NetNS{Path: path, Inode: s[path], MountNS: 1}
}
func (s livingSpaces) IsOwn(record.NetNS) bool     { return false }
func (s livingSpaces) Alive(ns record.NetNS) bool  { return ns.Inode != 0 && s[ns.Path] == ns.Inode }
func (s livingSpaces) Dead(ns record.NetNS) bool   { return ns.Inode != 0 && s[ns.Path] != ns.Inode }
func (s livingSpaces) Elsewhere(record.NetNS) bool { return false }
func (s livingSpaces) Unsure() error               { return nil }

func (n *ailing) state(cfg *ipam.Config) State {
	p := ipam.Plugin{Namespaces: n.spaces}
	warn := func(line string) { n.warned = append(n.warned, line) }
	s := store.New(n.dir, store.Options{Writer: "1", Warn: warn, BootID: func() string { return n.boot }, LockTimeout: 10 * time.Second})
	return State{Store: s, Config: cfg, Namespaces: n.spaces, Stale: p.Stale, Warn: warn}
}

func (n *ailing) plugin() *ipam.Plugin {
	return &ipam.Plugin{
		Open:       func(cfg *ipam.Config) ipam.State { return n.state(cfg) },
		Namespaces: n.spaces,
		Now:        func() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) },
		BootTime:   func() time.Duration { return time.Minute },
		Orphaned:   func() bool { return false },
		Warn:       func(line string) { n.warned = append(n.warned, line) },
	}
}

// call is of an attachment whose namespace is there. The subnet follows from the
// network's name.
func (n *ailing) call(network, phase, id string) ipam.Call {
	path := "/ns/" + id
	if n.spaces[path] == 0 {
		n.spaces[path] = uint64(1 + len(n.spaces))
	}
	conf := fmt.Sprintf(`{"cniVersion":"1.0.0","name":%q,"type":"bridge","cni.dev/valid-attachments":[],"ipam":{"type":"bolt-local","dataDir":%q,"cniCacheDirs":[%q],
"ranges":[[{"subnet":"10.%d.0.0/24"}]],"migration":{"phase":%q}}}`, network, n.dir, n.cache, len(network), phase)
	return ipam.Call{ContainerID: id, IfName: "eth0", NetNS: path, Stdin: []byte(conf)}
}

// ended ends a container.
func (n *ailing) ended(id string) { delete(n.spaces, "/ns/"+id) }

func (n *ailing) add(network, phase, id string) (netip.Addr, error) {
	result, err := n.plugin().Add(n.call(network, phase, id))
	if err != nil {
		return netip.Addr{}, err
	}
	addrs, err := goldenAddrs(result)
	if err != nil {
		return netip.Addr{}, err
	}
	return addrs[0], nil
}

func (n *ailing) mustAdd(network, phase, id string) netip.Addr {
	n.t.Helper()
	addr, err := n.add(network, phase, id)
	if err != nil {
		n.t.Fatalf("ADD of %s in %s: %v", id, network, err)
	}
	return addr
}

// held is who holds what in a network, and the phase that it is in. The forms
// have to agree.
func (n *ailing) held(network string) (map[netip.Addr]string, engine.Phase) {
	n.t.Helper()
	got := map[netip.Addr]string{}
	var phase engine.Phase
	state := n.state(nil)
	err := state.Store.ReadWhole(func(tx *store.Tx) error {
		return state.ViewIn(tx, network, true, func(v engine.View) error {
			phase = v.Progress.Phase
			if len(v.Differences) > 0 {
				n.t.Errorf("the forms of %s differ: %q", network, v.Differences)
			}
			return v.Each(func(a record.Allocation) error {
				for _, h := range a.Holders {
					got[a.Addr] += h.ContainerID
				}
				return nil
			})
		})
	})
	if err != nil {
		n.t.Fatalf("reading %s: %v", network, err)
	}
	return got, phase
}

func (n *ailing) file(names ...string) string {
	return filepath.Join(append([]string{n.dir}, names...)...)
}

// damaged spoils the checkpoint, and the journal with it or not.
func (n *ailing) damaged(journal bool) {
	n.t.Helper()
	b, err := os.ReadFile(n.file(store.CheckpointFile))
	if err == nil {
		copy(b, make([]byte, 4096))
		err = os.WriteFile(n.file(store.CheckpointFile), b, 0o600)
	}
	if err == nil && journal {
		err = os.WriteFile(n.file(store.JournalFile), nil, 0o600)
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *ailing) refused(what string, err error, says ...string) {
	n.t.Helper()
	if ipam.CodeOf(err) != ipam.CodeDamaged {
		n.t.Errorf("%s: %v (code %d), want code %d", what, err, ipam.CodeOf(err), ipam.CodeDamaged)
		return
	}
	for _, text := range append(says, n.dir, "bolt-local repair") {
		if !strings.Contains(err.Error(), text) {
			n.t.Errorf("%s does not say %q: %v", what, text, err)
		}
	}
}

// twoNetworks is a node with two pods in each of two networks, one of which
// began on host-local and is in phase.
func twoNetworks(t *testing.T, phase engine.Phase) (*ailing, map[netip.Addr]string) {
	t.Helper()
	n := newAiling(t)
	n.hostLocalAdds("podnet", "10.6.0.2", "old")
	held := map[netip.Addr]string{netip.MustParseAddr("10.6.0.2"): "old"}
	held[n.mustAdd("podnet", string(phase), "a")] = "a"
	held[n.mustAdd("podnet", string(phase), "b")] = "b"
	n.mustAdd("othernet", "", "x")
	n.mustAdd("othernet", "", "y")
	if got, now := n.held("podnet"); now != phase || !maps.Equal(got, held) {
		t.Fatalf("podnet has %v, in %s; want %v, in %s", got, now, held, phase)
	}
	return n, held
}

func (n *ailing) hostLocalAdds(network, addr, id string) {
	n.t.Helper()
	err := os.MkdirAll(n.file(network), 0o755)
	for name, content := range map[string]string{addr: id + "\r\neth0", "last_reserved_ip.0": addr, "lock": ""} {
		if _, there := os.Stat(n.file(network, name)); err == nil && (name != "lock" || there != nil) {
			err = os.WriteFile(n.file(network, name), []byte(content), 0o644)
		}
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

func second[A, B any](_ A, b B) B { return b }
