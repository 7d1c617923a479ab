package migration

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// damaged is bolt-local's code for a checkpoint that is not what it should be.
const damaged = 110

// As long as both forms are written, the directory alone is enough.
func TestADataDirectoryThatIsLostIsMadeAnewFromHostLocalsDirectory(t *testing.T) {
	for _, phase := range []string{legacy, expand, switched} {
		for _, target := range []string{phase, noTarget} {
			t.Run(phase+", then the target "+target, func(t *testing.T) {
				n := newNetwork(t, t.TempDir())
				pods := n.before(t, phase)
				if err := os.RemoveAll(n.dataDir); err != nil {
					t.Fatal(err)
				}
				pods.del(t, n.ours(target), "web") // the first call after it
				pods.add(t, n.ours(target), "new")
				if target == noTarget {
					target = switched
				}
				n.expectIn(t, target, pods)
			})
		}
	}
}

// In contract nobody knows, until the next boot, who holds what: to give out
// addresses would be a guess.
func TestADataDirectoryThatIsLostInContractGivesNothingOutUntilTheNextBoot(t *testing.T) {
	if !testenv.InOwnMounts(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	for _, target := range []string{noTarget, contract, switched, legacy} {
		t.Run("target "+target, func(t *testing.T) {
			boot := testenv.FakeBoot(t)
			n := newNetwork(t, t.TempDir())
			pods := inContract(t, n)
			if err := os.RemoveAll(n.dataDir); err != nil {
				t.Fatal(err)
			}
			ours := n.ours(target)
			for range 2 {
				reply := ours.try(t, ours.call("ADD", "new"))
				if reply.ErrorCode() != damaged || !strings.Contains(reply.Error().Error(), n.dir()) {
					t.Errorf("ADD: %v, stdout %s; want code %d, naming %s", reply.Error(), reply.Stdout, damaged, n.dir())
				}
			}
			if reply := ours.try(t, ours.call("STATUS", "")); reply.ErrorCode() != types.ErrPluginNotAvailable {
				t.Errorf("STATUS: %v, want code %d", reply.Error(), types.ErrPluginNotAvailable)
			}
			n.expectShut(t, "new")

			boot.Reboot(t)
			clear(pods)
			pods.add(t, ours, "new")
			phase := target
			if target == noTarget {
				phase = contract
			}
			n.expectIn(t, phase, pods)
		})
	}
}

// A copy of the data directory that is played back is older than the directory,
// which counts.
func TestAnOlderDataDirectoryThatIsPlayedBackIsBroughtUpToDate(t *testing.T) {
	for _, phase := range []string{expand, switched} {
		t.Run(phase, func(t *testing.T) {
			n := newNetwork(t, t.TempDir())
			pods := n.before(t, phase)
			backup := n.dataDir + ".backup"
			if err := os.CopyFS(backup, os.DirFS(n.dataDir)); err != nil {
				t.Fatal(err)
			}
			pods.del(t, n.ours(phase), "web")
			pods.add(t, n.ours(phase), "later")
			pods.del(t, n.theirs(), "old")
			pods.add(t, n.theirs(), "guest")

			if err := os.RemoveAll(n.dataDir); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(backup, n.dataDir); err != nil {
				t.Fatal(err)
			}
			n.expectDump(t, pods)
			pods.add(t, n.ours(phase), "new")
			n.expectIn(t, phase, pods)
		})
	}
}

// The chained role is how a runtime's GC reaches bolt-local at all. It knows the
// data directory alone.
func TestChainedGCFreesInBothForms(t *testing.T) {
	for _, phase := range phases {
		t.Run(phase, func(t *testing.T) {
			n := newNetwork(t, t.TempDir())
			pods := n.beforeBoot(t, phase)
			keep := maps.Clone(pods)
			delete(keep, "web")
			p := n.ours(noTarget)
			p.config = n.chained(lab.Valid(keep.ids()...))
			p.run(t, p.call("GC", ""))
			n.expectIn(t, phase, keep)
		})
	}
}
