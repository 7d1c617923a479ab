package migration

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// A disk has room for nothing at all, or for the first part of what a step
// writes.
func TestAStepOnAFullDiskWaitsOrFailsAndLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	if !testenv.InOwnMounts(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	for name, s := range steps {
		for _, pages := range []int64{0, 8, 16} {
			t.Run(fmt.Sprintf("%s, %d pages", name, pages), func(t *testing.T) {
				disk := testenv.NewDisk(t, 4<<20)
				n := newNetwork(t, disk.Dir)
				pods := s.prepare(t, n)
				disk.Fill(t, pages)
				if n.expectWhole(t, s.target, pods) {
					n.ours(s.target).del(t, "tried") // as runtimes do
				}
				n.expectNothingBeside(t)
				disk.Fill(t, 0)
				for _, id := range pods.ids() {
					pods.del(t, n.ours(s.target), id)
				}
				n.expectHeld(t, pods)
				disk.Empty(t)
				pods.add(t, n.ours(s.target), "after")
				n.settle(t, pods)
				n.expectNothingBeside(t)
			})
		}
	}
}

// What host-local gave out meanwhile has no room in the checkpoint. The
// directory, which counts, has room for what is freed.
func TestDELFreesOnAFullDiskWhileAnImportIsDue(t *testing.T) {
	if !testenv.InOwnMounts(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	disk := testenv.NewDisk(t, 4<<20)
	n := newNetwork(t, disk.Dir)
	n.subnets = []string{"10.97.0.0/22"}
	pods := n.before(t, switched)
	for i := range 200 { // as host-local would
		addr := netip.AddrFrom4([4]byte{10, 97, 1, byte(i)})
		id := fmt.Sprintf("%064d", i)
		if err := os.WriteFile(filepath.Join(n.dir(), addr.String()), []byte(id+"\r\neth0"), 0o600); err != nil {
			t.Fatal(err)
		}
		pods[id] = addr
	}
	disk.Fill(t, 0)
	for _, id := range append([]string{"web", "nobody", "old"}, pods.ids()[:3]...) {
		pods.del(t, n.ours(switched), id)
		pods.expect(t, "host-local's directory", n.files(t))
	}
	disk.Empty(t)
	pods.add(t, n.ours(switched), "new")
	n.expectInSwitch(t, pods)
}
