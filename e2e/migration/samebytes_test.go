package migration

import (
	"net/netip"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// addIn attaches a container with a namespace that exists.
func (p plugin) addIn(t *testing.T, containerID string, ns *lab.Namespace) netip.Addr {
	t.Helper()
	call := p.call("ADD", containerID)
	call.NetNS = ns.Path
	return address(t, p.run(t, call))
}

// gcNull is the GC that frees only where a recorded namespace is dead.
func (n network) gcNull(t *testing.T) {
	t.Helper()
	p := n.ours(noTarget, object{"cni.dev/valid-attachments": nil})
	p.run(t, p.call("GC", ""))
}

// A file with the bytes of one that we wrote is another allocation if
// host-local wrote it: it has nothing to do with the namespace, or the boot, of
// the one before.
func TestAnAddressThatHostLocalGaveAnewWithTheVerySameBytesIsSafe(t *testing.T) {
	t.Parallel()
	if !testenv.InOwnProcesses(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	for name, reboots := range map[string]bool{"in the same boot": false, "after a reboot": true} {
		t.Run(name, func(t *testing.T) {
			boot := testenv.FakeBoot(t)
			n := newNetwork(t, t.TempDir())
			n.subnets = []string{"10.97.0.0/29"} // .2 to .6
			ours := n.ours(switched)
			ns := testenv.Namespace(t, "web")
			pods := held{"web": ours.addIn(t, "web", ns)}
			content := n.reservations(t)
			pods.add(t, ours, "db")

			if err := ns.Close(); err != nil {
				t.Fatal(err)
			}
			if reboots {
				boot.Reboot(t)
				delete(pods, "db")
			}
			theirs := n.theirs()
			theirs.del(t, "web")
			theirs.addAt(t, "web", pods["web"])
			file := pods["web"].String()
			if got := n.reservations(t)[file]; got != content[file] {
				t.Fatalf("host-local wrote %q, bolt-local %q: this run shows nothing", got, content[file])
			}

			n.gcNull(t)
			n.expectInSwitch(t, pods)
			for _, id := range []string{"a", "b", "c", "d"} {
				if len(pods) < 5 {
					pods.add(t, ours, id)
				}
			}
			ours.fails(t, "ADD", "one too many") // its last resort is to ask for dead namespaces
			n.gcNull(t)
			n.expectInSwitch(t, pods)

			boot.Show(t, 1) // a call from where the boot id has not changed
			n.gcNull(t)
			n.expectInSwitch(t, pods)
		})
	}
}

// The file of an earlier boot that nobody has touched holds its address for
// ever under host-local.
func TestWhatAnEarlierBootLeftIsFreeForBothBinaries(t *testing.T) {
	if !testenv.InOwnMounts(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	boot := testenv.FakeBoot(t)
	n := newNetwork(t, t.TempDir())
	n.subnets = []string{"10.97.0.0/29"}
	pods := held{}
	for _, id := range []string{"old-1", "old-2"} {
		pods.add(t, n.theirs(), id)
	}
	for _, id := range []string{"new-1", "new-2", "new-3"} {
		pods.add(t, n.ours(switched), id)
	}
	boot.Reboot(t)
	n.theirs().fails(t, "ADD", "full")
	n.expectDump(t, held{})

	n.ours(switched).del(t, "nobody")
	n.expectInSwitch(t, held{})
	pods = held{}
	for _, id := range []string{"a", "b", "c"} {
		pods.add(t, n.theirs(), id)
	}
	for _, id := range []string{"d", "e"} {
		pods.add(t, n.ours(switched), id)
	}
	n.expectInSwitch(t, pods)
	boot.Reboot(t)
	pods = held{}
	for _, id := range []string{"f", "g", "h", "i", "j"} {
		pods.add(t, n.ours(switched), id)
	}
	n.expectInSwitch(t, pods)
}
