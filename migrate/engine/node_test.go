package engine_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// failer is *testing.T, or rapid's.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// node is a node with one network in a pair of forms. The verbs are the real
// ones; boots, network namespaces and witnesses are made up.
type node struct {
	failer
	dir    string
	pair   enginetest.Pair
	boot   int
	target engine.Phase
	subnet string
	spaces spaces
	// living is what the witness knows of.
	living []engine.Living
	// tamper, if set, stands between the engine and the old form.
	tamper func(form.Old) form.Old
	// orphaned: the caller of the next ADD has died, so that it fails.
	orphaned bool
	// failWrites, if not 0, is the write of a call to the new form that fails.
	failWrites int
	// due, if set, is what earlier calls have left to be done.
	due func(ipam.Tx, func(netip.Addr) time.Time) error
	// failCommit, if set, is the error of the commit of a call.
	failCommit error
	// outlives, if set, is why the old form must not be written.
	outlives error
	// admit, if set, tells why the network must not enter.
	admit func(form.Contents) error

	told   []string // of the last call
	opened form.Old
	killed bool
}

func newNode(t *testing.T, m enginetest.Maker) *node { return newNodeIn(t, m, t.TempDir()) }

func newNodeIn(t failer, m enginetest.Maker, dir string) *node {
	n := &node{failer: t, dir: dir, boot: 1, subnet: "10.0.0.0/26", spaces: spaces{}}
	n.pair = m.Make(dir, n.bootID)
	return n
}

func (n *node) bootID() string { return fmt.Sprintf("boot-%05d", n.boot) }

// onPairs runs a test on each pair.
func onPairs(t *testing.T, test func(*testing.T, *node)) {
	t.Helper()
	t.Parallel()
	for _, m := range enginetest.Pairs {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			test(t, newNode(t, m))
		})
	}
}

// casesOnPairs runs a table of cases on each pair, each on a node of its own.
func casesOnPairs[C any](t *testing.T, cases map[string]C, test func(*testing.T, *node, C)) {
	t.Helper()
	t.Parallel()
	for _, m := range enginetest.Pairs {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			for _, name := range slices.Sorted(maps.Keys(cases)) {
				t.Run(name, func(t *testing.T) { test(t, newNode(t, m), cases[name]) })
			}
		})
	}
}

func (n *node) engine() *engine.Engine {
	return &engine.Engine{
		OpenOld: func(path string) form.Old {
			n.opened = n.pair.Old.Open(path)
			if n.tamper != nil {
				n.opened = n.tamper(n.opened)
			}
			return n.opened
		},
		Stale:   n.plugin().Stale,
		Witness: n,
		Admit: func(c form.Contents) error {
			if n.admit == nil {
				return nil
			}
			return n.admit(c)
		},
		Outlives:  func(string) error { return n.outlives },
		Another:   func(dataDir string) bool { return dataDir != "/data" },
		Tombstone: form.Tombstone{Network: enginetest.Network, DataDir: "/data", BootID: n.bootID()},
		Deadline:  time.Now().Add(10 * time.Second),
		Warn:      func(line string) { n.told = append(n.told, line) },
	}
}

// Living implements [engine.Witness].
func (n *node) Living() []engine.Living { return n.living }

// Complete implements [engine.Witness].
func (n *node) Complete(addr netip.Addr, h *record.Holder) {
	for _, l := range n.living {
		if l.Holder.ContainerID == h.ContainerID && slices.Contains(l.Addrs, addr) && (h.IfName == "" || h.IfName == l.Holder.IfName) {
			h.IfName, h.NetNS, h.Pod = l.Holder.IfName, l.Holder.NetNS, l.Holder.Pod
		}
	}
}

func (n *node) plugin() *ipam.Plugin {
	p := &ipam.Plugin{
		Namespaces: n.spaces,
		Now:        func() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) },
		BootTime:   func() time.Duration { return time.Minute },
		Orphaned:   func() bool { return n.orphaned },
		Warn:       func(string) {},
	}
	p.Open = func(cfg *ipam.Config) ipam.State { return state{node: n, cfg: cfg} }
	return p
}

// call makes a call for a container; its namespace is that of its id.
func (n *node) call(id, more string) ipam.Call {
	return ipam.Call{ContainerID: id, IfName: "eth0", NetNS: "/ns/" + id, Stdin: fmt.Appendf(nil,
		`{"cniVersion":"1.0.0","name":%q,"type":"bridge","ipam":{"type":"bolt-local","subnet":%q}%s}`, enginetest.Network, n.subnet, more)}
}

// add is an ADD of a new pod, or of the same one again, and returns the address.
// asked, if given, is requested.
func (n *node) add(id string, asked ...string) (string, error) {
	more := ""
	if len(asked) > 0 {
		more = fmt.Sprintf(`,"args":{"cni":{"ips":["%s"]}}`, strings.Join(asked, `","`))
	}
	n.spaces.begin("/ns/" + id)
	return n.addCall(n.call(id, more))
}

func (n *node) addCall(call ipam.Call) (string, error) {
	got, err := n.plugin().Add(call)
	if err != nil {
		return "", err
	}
	r, err := types100.GetResult(got)
	if err != nil {
		return "", err
	}
	return r.IPs[0].Address.IP.String(), nil
}

func (n *node) mustAdd(id string, asked ...string) string {
	n.Helper()
	addr, err := n.add(id, asked...)
	if err != nil {
		n.Fatalf("ADD %s failed: %v", id, err)
	}
	return addr
}

// del is the DEL of a container that is gone already.
func (n *node) del(id string) error {
	delete(n.spaces, "/ns/"+id)
	return n.plugin().Del(n.call(id, ""))
}

func (n *node) mustDel(id string) {
	n.Helper()
	if err := n.del(id); err != nil {
		n.Fatalf("DEL %s failed: %v", id, err)
	}
}

// gc frees all but these containers.
func (n *node) gc(keep ...string) error {
	list := make([]string, len(keep))
	for i, id := range keep {
		list[i] = fmt.Sprintf(`{"containerID":%q,"ifname":"eth0"}`, id)
	}
	return n.plugin().GC(n.call("", `,"cni.dev/valid-attachments":[`+strings.Join(list, ",")+`]`))
}

// idle is a runtime's call that changes nothing itself.
func (n *node) idle() {
	n.Helper()
	if err := n.plugin().Del(n.call("nobody", "")); err != nil {
		n.Fatalf("a DEL of nobody failed: %v", err)
	}
}

// older is what a program does that knows the old form alone.
func (n *node) older(id string, addr string) {
	n.Helper()
	if err := n.pair.Old.Add(eth0(id), ip(addr)); err != nil {
		n.Fatalf("the older program's ADD of %s failed: %v", id, err)
	}
}

func (n *node) olderDel(id string) {
	n.Helper()
	if found, err := n.pair.Old.Del(eth0(id)); err != nil || !found {
		n.Fatalf("the older program's DEL of %s found %t, %v", id, found, err)
	}
}

// reboot ends all pods.
func (n *node) reboot() {
	n.boot++
	maps.DeleteFunc(n.spaces, func(path string, _ uint64) bool { return path != lastInode })
}

func eth0(id string) record.Attachment { return record.Attachment{ContainerID: id, IfName: "eth0"} }

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

// spaces are the living namespaces: path to inode.
type spaces map[string]uint64

// lastInode has the number given last: none is given twice.
const lastInode = "last"

func (s spaces) begin(path string) {
	if s[path] == 0 {
		s[lastInode]++
		s[path] = s[lastInode]
	}
}

func (s spaces) Identify(path string) record.NetNS {
	return record.NetNS{Path: path, Inode: s[path], MountNS: 1}
}
func (s spaces) IsOwn(record.NetNS) bool     { return false }
func (s spaces) Alive(ns record.NetNS) bool  { return ns.Inode != 0 && s[ns.Path] == ns.Inode }
func (s spaces) Unsure() error               { return nil }
func (s spaces) Elsewhere(record.NetNS) bool { return false }
func (s spaces) Dead(ns record.NetNS) bool   { return ns.Inode != 0 && s[ns.Path] != ns.Inode }
