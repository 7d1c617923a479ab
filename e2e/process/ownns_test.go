package process

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// A runtime that names the node's own namespace would give the node a pod's
// address. Its DEL has to get through all the same.
func TestThePluginsOwnNamespaceIsRefusedByADDAndAcceptedByDEL(t *testing.T) {
	binary := testenv.Binary(t, lab.BoltLocal)
	ofTest := fmt.Sprintf("/proc/%d/ns/net", os.Getpid())
	link := filepath.Join(t.TempDir(), "netns")
	if err := os.Symlink(ofTest, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path string }{
		{"named by the plugin itself", "/proc/self/ns/net"},
		{"named by another process in it", ofTest},
		{"named by a link", link},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := network{name: "own", subnet: "10.96.0.0/24", dataDir: newDataDir(t), binary: binary}
			own := func(verb, id string) lab.Call {
				call := n.call(verb, id)
				call.NetNS, call.AnyNetNS = c.path, false
				return call
			}

			n.expectOwnRefused(t, own("ADD", "new"))
			n.expectHeld(t, nil)

			held := map[string]netip.Addr{"held": n.add(t, "held")}
			n.expectOwnRefused(t, own("ADD", "new"))
			n.expectOwnRefused(t, own("ADD", "held"))
			n.expectHeld(t, held)

			n.run(t, own("DEL", "new"))
			n.expectHeld(t, held)
			n.run(t, own("DEL", "held"))
			n.expectHeld(t, nil)

			overridden := own("ADD", "new")
			overridden.AnyNetNS = true
			n.expectHeld(t, map[string]netip.Addr{"new": testenv.Address(t, n.run(t, overridden))})
			n.run(t, own("DEL", "new"))
			n.expectHeld(t, nil)
		})
	}
}

func (n network) expectOwnRefused(t *testing.T, add lab.Call) {
	t.Helper()
	reply, err := add.Run(t.Context(), n.binary)
	if err != nil {
		t.Fatal(err)
	}
	if reply.ErrorCode() != types.ErrInvalidNetNS {
		t.Errorf("ADD of %s with CNI_NETNS=%s: code %d, want %d: %v, stdout %s",
			add.ContainerID, add.NetNS, reply.ErrorCode(), types.ErrInvalidNetNS, reply.Error(), reply.Stdout)
	}
}
