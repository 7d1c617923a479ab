package migration

import (
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// A directory that is mounted, as into a container, cannot be renamed.
func TestTheStepToContractWaitsWhereTheDirectoryIsAMountPoint(t *testing.T) {
	if !testenv.InOwnMounts(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	n := newNetwork(t, t.TempDir())
	pods := readyToContract(t, n)
	unmount := testenv.BindOver(t, n.dir(), 0)
	for _, id := range []string{"one", "two"} { // the second knows what the first has met
		pods.add(t, n.ours(contract), id)
		n.expectInSwitch(t, pods)
		n.expectNothingBeside(t)
	}
	if why := n.waitsFor(t); !strings.Contains(why, n.dir()) {
		t.Errorf("migrate status waits for %q, want why %s cannot be swapped", why, n.dir())
	}
	pods.add(t, n.theirs(), "host-local") // which still works
	pods.del(t, n.ours(contract), "host-local")
	n.expectInSwitch(t, pods)

	unmount()
	pods.add(t, n.ours(contract), "three")
	n.expectIn(t, contract, pods)
	if why := n.waitsFor(t); why != "" {
		t.Errorf("migrate status waits for %q in contract", why)
	}
}

func TestTheStepToContractSaysWhatItWaitsFor(t *testing.T) {
	n := newNetwork(t, t.TempDir())
	pods := onHostLocal(t, n)
	for _, id := range []string{"one", "two"} {
		pods.add(t, n.ours(contract), id)
	}
	if why := n.waitsFor(t); !strings.Contains(why, "host-local") {
		t.Errorf("migrate status waits for %q, want the pod of host-local", why)
	}
	n.expectInSwitch(t, pods)
}
