package cri

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

const (
	network    = "podnet"
	bridgeName = "cni0"
)

// node is a machine with containerd, the bridge, and bolt-local.
type node struct {
	binDir  string // of the CNI plugins
	confDir string // of the conflists
	boot    *testenv.Boot
	log     *os.File // of containerd

	containerd *exec.Cmd
	conn       *grpc.ClientConn
	runtime    runtimeapi.RuntimeServiceClient
	attempts   atomic.Uint32 // to start a pod: containerd wants another number for each
}

// newNode makes a node whose containerd runs, with the plugins as its only
// network. It is for tests that are onNode.
func newNode(t *testing.T, plugins ...object) *node {
	t.Helper()
	mountOwnDirectories(t)
	n := &node{binDir: t.TempDir(), confDir: filepath.Join(t.TempDir(), "net.d"), boot: testenv.FakeBoot(t)}
	if err := os.Mkdir(n.confDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{lab.BoltLocal, lab.Bridge, lab.Loopback} {
		n.install(t, name)
	}
	n.configure(t, plugins...)
	n.openLog(t)
	n.ip(t, "link", "set", "lo", "up")
	n.start(t)
	n.importImage(t)
	return n
}

// install puts a plugin where containerd looks for it.
func (n *node) install(t *testing.T, name string) {
	t.Helper()
	if err := os.Symlink(testenv.Binary(t, name), filepath.Join(n.binDir, name)); err != nil {
		t.Fatal(err)
	}
}

// uninstall takes a plugin away again.
func (n *node) uninstall(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(n.binDir, name)); err != nil {
		t.Fatal(err)
	}
}

// configure writes the conflist of the pods' network. containerd attaches pods
// to the first one alone.
func (n *node) configure(t *testing.T, plugins ...object) {
	t.Helper()
	n.writeConflist(t, "10-"+network, conflist(t, "1.0.0", network, plugins...))
}

// reconfigure changes the conflist, and restarts containerd, which would else
// see the change at some time.
func (n *node) reconfigure(t *testing.T, plugins ...object) {
	t.Helper()
	n.configure(t, plugins...)
	n.kill(t)
	n.start(t)
}

// writeConflist writes a conflist whole, for containerd watches.
func (n *node) writeConflist(t *testing.T, name string, data []byte) {
	t.Helper()
	temporary := filepath.Join(n.confDir, name+".new")
	if err := os.WriteFile(temporary, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(n.confDir, name+".conflist")); err != nil {
		t.Fatal(err)
	}
}

// conflist is a network configuration list. containerd 1.6 and 1.7 know
// versions up to 1.0.0, and GC begins with 1.1.0.
func conflist(t *testing.T, cniVersion, name string, plugins ...object) []byte {
	t.Helper()
	return encode(t, object{"cniVersion": cniVersion, "name": name, "plugins": plugins})
}

// bridge is the configuration of a bridge with that of its IPAM plugin.
func bridge(ipam object) object {
	return object{"type": lab.Bridge, "bridge": bridgeName, "isGateway": true, "ipam": ipam}
}

// ipam is the configuration of bolt-local with the subnets, one range set for
// each, and no other setting than on most nodes.
func ipam(subnets ...string) object {
	var ranges [][]object
	for _, subnet := range subnets {
		ranges = append(ranges, []object{{"subnet": subnet}})
	}
	return object{"type": lab.BoltLocal, "ranges": ranges, "routes": []object{{"dst": "0.0.0.0/0"}}}
}

func (n *node) openLog(t *testing.T) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "containerd.log"))
	if err != nil {
		t.Fatal(err)
	}
	n.log = log
	t.Cleanup(func() {
		if t.Failed() {
			if _, err := log.Seek(0, io.SeekStart); err == nil {
				text, _ := io.ReadAll(log) // as far as it goes
				t.Logf("containerd says:\n%s", text)
			}
		}
		_ = log.Close() // only read after this
	})
}

// ip runs ip(8) in the node's network namespace.
func (n *node) ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v: %s", args, err, out)
	}
}
