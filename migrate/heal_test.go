package migrate

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
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

func TestANetworkIsHealedAloneFromItsDirectory(t *testing.T) {
	for _, phase := range []engine.Phase{engine.Legacy, engine.Expand, engine.Switch} {
		t.Run(string(phase), func(t *testing.T) {
			n, held := twoNetworks(t, phase)
			n.damaged(true)
			n.refused("ADD in the other network", second(n.add("othernet", "", "new")), store.CheckpointFile)
			held[n.mustAdd("podnet", string(phase), "c")] = "c"
			if got, now := n.held("podnet"); now != phase || !maps.Equal(got, held) {
				t.Errorf("podnet has %v, in %s; want %v", got, now, held)
			}
			n.refused("ADD in the other network, afterwards", second(n.add("othernet", "", "new")), "othernet")
			if err := n.plugin().Status(n.call("othernet", "", "")); ipam.CodeOf(err) != ipam.CodeUnavailable {
				t.Errorf("STATUS of the other network: %v", err)
			}
			if err := n.plugin().Status(n.call("podnet", string(phase), "")); err != nil {
				t.Errorf("STATUS of podnet: %v", err)
			}
			if kept, err := filepath.Glob(n.file("checkpoint.db.damaged-*")); err != nil || len(kept) != 1 {
				t.Errorf("kept %q, %v", kept, err)
			}
			n.boot = "boot-000002"
			n.mustAdd("othernet", "", "new")
		})
	}
}

func second[A, B any](_ A, b B) B { return b }

func TestWhichCallsHeal(t *testing.T) {
	writes := map[string]func(n *ailing) error{
		"ADD":            func(n *ailing) error { return second(n.add("podnet", "switch", "c")) },
		"ADD again":      func(n *ailing) error { return second(n.add("podnet", "switch", "a")) },
		"DEL":            func(n *ailing) error { return n.plugin().Del(n.call("podnet", "switch", "a")) },
		"GC":             func(n *ailing) error { return n.plugin().GC(n.call("podnet", "switch", "")) },
		"DEL of nothing": func(n *ailing) error { return n.plugin().Del(n.call("podnet", "switch", "nobody")) },
		"release": func(n *ailing) error {
			return n.state(nil).Update(ipam.VerbRelease, "podnet", func(tx ipam.Tx) error { return tx.Delete(netip.MustParseAddr("10.6.0.2")) })
		},
		"a step by hand": func(n *ailing) error { return second(n.state(nil).Rollback("podnet", true)) },
	}
	reads := map[string]func(n *ailing) error{
		"STATUS": func(n *ailing) error { return n.plugin().Status(n.call("podnet", "switch", "")) },
		"CHECK":  func(n *ailing) error { return n.plugin().Check(n.call("podnet", "switch", "a")) },
	}
	for name, call := range writes {
		t.Run(name, func(t *testing.T) {
			n, _ := twoNetworks(t, engine.Switch)
			n.damaged(false)
			if err := call(n); err != nil {
				t.Fatal(err)
			}
			n.held("podnet")
			if got, phase := n.held("othernet"); len(got) != 2 || phase != engine.Contract {
				t.Errorf("othernet has %v, in %s", got, phase)
			}
		})
	}
	for name, call := range reads {
		t.Run(name, func(t *testing.T) {
			n, _ := twoNetworks(t, engine.Switch)
			n.damaged(false)
			before, err := os.ReadFile(n.file(store.CheckpointFile))
			if err != nil {
				t.Fatal(err)
			}
			if err := call(n); err == nil {
				t.Error("it succeeds")
			}
			if after, err := os.ReadFile(n.file(store.CheckpointFile)); err != nil || !bytes.Equal(before, after) {
				t.Errorf("it has written (%v)", err)
			}
		})
	}
}

// Whoever wipes the directory takes what it alone could have told.
func TestANetworkIsNotHealedFromADirectoryThatWasWiped(t *testing.T) {
	wipes := map[string]func(n *ailing){
		"whole": func(n *ailing) { _ = os.RemoveAll(n.file("podnet")) },
		"its contents": func(n *ailing) {
			names, _ := filepath.Glob(n.file("podnet", "*"))
			for _, name := range names {
				_ = os.Remove(name)
			}
		},
		"and host-local ran in it": func(n *ailing) {
			_ = os.RemoveAll(n.file("podnet"))
			n.hostLocalAdds("podnet", "10.6.0.2", "guest")
		},
		"its lock, and host-local ran in it": func(n *ailing) {
			_ = os.Remove(n.file("podnet", "lock"))
			n.hostLocalAdds("podnet", "10.6.0.9", "guest")
		},
	}
	// Whether it was is told by the network's document, wherever that is left.
	for where, journal := range map[string]func(n *ailing){
		"the journal tells": func(n *ailing) {
			b, err := os.ReadFile(n.file(store.JournalFile))
			if err == nil {
				err = os.WriteFile(n.file(store.JournalFile), b[:len(b)-9], 0o600) // an answered line is cut
			}
			if err != nil {
				n.t.Fatal(err)
			}
		},
		"the damaged file tells": func(n *ailing) { _ = os.Remove(n.file(store.JournalFile)) },
	} {
		for name, wipe := range wipes {
			t.Run(name+", "+where, func(t *testing.T) {
				n, _ := twoNetworks(t, engine.Switch)
				n.damaged(false)
				journal(n)
				wipe(n)
				n.refused("ADD", second(n.add("podnet", "switch", "c")))
			})
		}
	}
}

func TestANetworkInContractIsNotHealedAlone(t *testing.T) {
	n := newAiling(t)
	n.mustAdd("podnet", "", "a")
	n.damaged(true)
	n.refused("ADD", second(n.add("podnet", "", "c")))
	if err := n.plugin().Del(n.call("podnet", "", "a")); err != nil {
		t.Errorf("DEL: %v", err)
	}
	if got := n.state(nil).Store.CountDeferred(); got != 1 {
		t.Errorf("%d DELs wait", got)
	}
}

// Lock and journal may be lost with the checkpoint; the tombstone stands
// elsewhere.
func TestATombstoneOfThisBootKeepsANetworkShut(t *testing.T) {
	for name, c := range map[string]struct {
		gone []string
		boot string
		want bool // ADD is refused
	}{
		"all else is gone":                        {[]string{store.CheckpointFile, store.LockFile, store.JournalFile}, "boot-000001", true},
		"all else is gone, in a new boot":         {[]string{store.CheckpointFile, store.LockFile, store.JournalFile}, "boot-000002", false},
		"the checkpoint is spoilt":                {[]string{store.LockFile, store.JournalFile}, "boot-000001", true},
		"the checkpoint is spoilt, in a new boot": {[]string{store.LockFile, store.JournalFile}, "boot-000002", false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			n.mustAdd("podnet", "", "a")
			if !slices.Contains(c.gone, store.CheckpointFile) {
				n.damaged(false)
			}
			for _, file := range c.gone {
				if err := os.Remove(n.file(file)); err != nil {
					t.Fatal(err)
				}
			}
			n.boot = c.boot
			addr, err := n.add("podnet", "", "new")
			if c.want {
				n.refused("ADD", err)
			} else if err != nil || addr != netip.MustParseAddr("10.6.0.2") {
				t.Errorf("ADD: %v, %v", addr, err)
			}
		})
	}
}

// The journal tells what this node wrote, and the directory what host-local did
// since.
func TestAHealedNetworkTakesOverWhatHostLocalDidMeanwhile(t *testing.T) {
	n, held := twoNetworks(t, engine.Switch)
	n.damaged(false)
	n.hostLocalAdds("podnet", "10.6.0.77", "guest")
	if err := os.Remove(n.file("podnet", "10.6.0.2")); err != nil { // its DEL of old
		t.Fatal(err)
	}
	delete(held, netip.MustParseAddr("10.6.0.2"))
	held[netip.MustParseAddr("10.6.0.77")] = "guest"
	held[n.mustAdd("podnet", "switch", "c")] = "c"
	if got, phase := n.held("podnet"); !maps.Equal(got, held) || phase != engine.Switch {
		t.Errorf("podnet has %v, in %s; want %v", got, phase, held)
	}
}
