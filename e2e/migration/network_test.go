package migration

import (
	"encoding/json"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// object is a JSON object.
type object = map[string]any

// The targets of ipam.migration.phase, and the phases that dump shows.
const (
	legacy   = "legacy"
	expand   = "expand"
	switched = "switch" // switch is a keyword
	contract = "contract"

	noTarget = ""
)

// lowest is what the first ADD of a new network is given.
var lowest = netip.MustParseAddr("10.97.0.2")

// network is one network, whose IPAM plugins are called directly.
type network struct {
	name     string
	subnets  []string // one range set each
	parent   string   // host-local's dataDir
	dataDir  string   // bolt-local's
	cacheDir string   // libcni's results

	hostLocal, boltLocal string // the binaries

	user *syscall.Credential // whom they run as; nil is the test's own
}

// newNetwork is a network that nobody has used yet, below dir.
func newNetwork(t *testing.T, dir string) network {
	t.Helper()
	return network{
		name:      "pods",
		subnets:   []string{"10.97.0.0/24"},
		parent:    filepath.Join(dir, "networks"),
		dataDir:   filepath.Join(dir, "bolt-local"),
		cacheDir:  filepath.Join(dir, "results"),
		hostLocal: testenv.Binary(t, lab.HostLocal),
		boltLocal: testenv.Binary(t, lab.BoltLocal),
	}
}

// dir is host-local's directory of the network, or its tombstone.
func (n network) dir() string { return filepath.Join(n.parent, n.name) }

// plugin is one binary with the configuration that it is called with.
type plugin struct {
	network
	binary string
	config []byte
	env    []string
}

// theirs is host-local.
func (n network) theirs() plugin {
	return plugin{network: n, binary: n.hostLocal, config: n.configuration(lab.HostLocal, object{"dataDir": n.parent}, nil)}
}

// ours is bolt-local with a target. What more has comes at the configuration's
// top.
func (n network) ours(target string, more ...object) plugin {
	migration := object{}
	if n.parent != n.dataDir { // else the one ipam.dataDir says all
		migration["hostLocalDir"] = n.parent
	}
	if target != noTarget {
		migration["phase"] = target
	}
	ipam := object{"dataDir": n.dataDir, "cniCacheDirs": []string{n.cacheDir}, "migration": migration}
	return plugin{network: n, binary: n.boltLocal, config: n.configuration(lab.BoltLocal, ipam, more)}
}

// chained is the configuration of bolt-local at the end of the plugin list, with
// the containers that live.
func (n network) chained(valid []types.GCAttachment) []byte {
	return encode(object{
		"cniVersion": "1.1.0", "name": n.name, "type": lab.BoltLocal,
		"ipam":                      object{"dataDir": n.dataDir},
		"cni.dev/valid-attachments": valid,
	})
}

func (n network) configuration(ipamType string, ipam object, more []object) []byte {
	ipam["type"] = ipamType
	var sets [][]object
	for _, subnet := range n.subnets {
		sets = append(sets, []object{{"subnet": subnet}})
	}
	ipam["ranges"] = sets
	conf := object{"cniVersion": "1.1.0", "name": n.name, "type": "bridge", "ipam": ipam}
	for _, m := range more {
		maps.Copy(conf, m)
	}
	return encode(conf)
}

func encode(conf object) []byte {
	data, err := json.Marshal(conf)
	if err != nil {
		panic(err) // of strings and lists only
	}
	return data
}

// call is a call for the container's eth0. Its namespace does not exist, so
// nothing can be told from it.
func (p plugin) call(verb, containerID string) lab.Call {
	return lab.Call{
		Verb:        verb,
		ContainerID: containerID,
		IfName:      "eth0",
		NetNS:       filepath.Join(p.dataDir, "no-netns", containerID),
		AnyNetNS:    true,
		Config:      p.config,
		MoreEnv:     p.env,
		Credential:  p.user,
	}
}

// try makes the call. It may be used from any goroutine.
func (p plugin) try(t *testing.T, call lab.Call) lab.Reply {
	t.Helper()
	reply, err := call.Run(t.Context(), p.binary)
	if err != nil {
		t.Errorf("%s of %s: %v", call.Verb, call.ContainerID, err)
	}
	return reply
}

// run makes the call, and fails the test if the verb fails.
func (p plugin) run(t *testing.T, call lab.Call) lab.Reply {
	t.Helper()
	reply := p.try(t, call)
	if err := reply.Error(); err != nil {
		t.Errorf("%s: %s of %s: %v", filepath.Base(p.binary), call.Verb, call.ContainerID, err)
	}
	return reply
}

// add attaches the container and returns its first address, the zero one if
// that failed.
func (p plugin) add(t *testing.T, containerID string) netip.Addr {
	t.Helper()
	return address(t, p.run(t, p.call("ADD", containerID)))
}

// addAt asks for an address.
func (p plugin) addAt(t *testing.T, containerID string, addr netip.Addr) {
	t.Helper()
	call := p.call("ADD", containerID)
	call.Args = "IP=" + addr.String()
	if got := address(t, p.run(t, call)); got != addr {
		t.Errorf("ADD of %s answers %s, want the requested %s", containerID, got, addr)
	}
}

func (p plugin) del(t *testing.T, containerID string) {
	t.Helper()
	p.run(t, p.call("DEL", containerID))
}

// gc lists the containers that live, each with its eth0.
func (n network) gc(t *testing.T, target string, alive ...string) {
	t.Helper()
	p := n.ours(target, object{"cni.dev/valid-attachments": lab.Valid(alive...)})
	p.run(t, p.call("GC", ""))
}

// fails makes a call that must fail, and returns what it said.
func (p plugin) fails(t *testing.T, verb, containerID string) string {
	t.Helper()
	reply := p.try(t, p.call(verb, containerID))
	if !reply.Failed() {
		t.Errorf("%s: %s of %s succeeded: %s", filepath.Base(p.binary), verb, containerID, reply.Stdout)
		return ""
	}
	return reply.Error().Error()
}

// address is the first address of an ADD's answer, the zero one of a failure.
func address(t *testing.T, reply lab.Reply) netip.Addr {
	t.Helper()
	addrs := testenv.Addresses(t, reply)
	if len(addrs) > 0 {
		return addrs[0]
	}
	if !reply.Failed() {
		t.Error("the result has no address")
	}
	return netip.Addr{}
}

// openDir is a new directory that every user may enter, and write.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bolt-local-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// install copies a binary to where every user may start it. cp(1) does it: what
// this process has open for writing while it starts another is "text file busy".
func install(t *testing.T, binary string) string {
	t.Helper()
	to := filepath.Join(openDir(t), filepath.Base(binary))
	if out, err := exec.Command("cp", binary, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	return to
}
