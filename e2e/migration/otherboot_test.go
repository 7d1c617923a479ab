package migration

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// A container may see another boot id than the node. A call from there would
// take all pods for those of an earlier boot, but for their namespaces.
func TestACallInAnotherBootIDsViewFreesNoneOfTheLiving(t *testing.T) {
	t.Parallel()
	if !testenv.InOwnProcesses(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	for _, target := range []string{expand, switched, contract} {
		t.Run(target, func(t *testing.T) {
			boot := testenv.FakeBoot(t)
			n := newNetwork(t, t.TempDir())
			ours := n.ours(target)
			pods := held{}
			if target != contract {
				old := n.attachByLibcni(t, "old", "eth0", testenv.Namespace(t, "old"))
				pods["old"] = old.addr
			}
			for _, id := range []string{"web", "db"} {
				pods[id] = ours.addIn(t, id, testenv.Namespace(t, id))
			}
			n.expectIn(t, target, pods)

			boot.Reboot(t)
			n.gcNull(t)
			n.expectIn(t, target, pods)
			ours.del(t, "nobody")
			pods["new"] = ours.addIn(t, "new", testenv.Namespace(t, "new"))
			n.expectIn(t, target, pods)
			boot.Show(t, 1)
			n.gcNull(t)
			pods["newer"] = ours.addIn(t, "newer", testenv.Namespace(t, "newer"))
			n.expectIn(t, target, pods)
			boot.Show(t, 2)
			for _, id := range pods.ids() {
				ours.run(t, ours.call("CHECK", id))
			}
			n.expectIn(t, target, pods)
			if target != contract {
				pods.add(t, n.theirs(), "host-local")
				n.expectDump(t, pods)
			}
		})
	}
}
