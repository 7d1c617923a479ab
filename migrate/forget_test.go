package migrate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

// left is a node with a network that holds nothing any more, in phase, and another
// that does.
func left(t *testing.T, phase engine.Phase) *ailing {
	t.Helper()
	n := newAiling(t)
	n.mustAdd("podnet", string(phase), "a")
	n.mustAdd("othernet", "", "x")
	n.mustDel("podnet", string(phase), "a")
	return n
}

func (n *ailing) mustDel(network, phase, id string) {
	n.t.Helper()
	n.ended(id)
	if err := n.plugin().Del(n.call(network, phase, id)); err != nil {
		n.t.Fatalf("DEL of %s in %s: %v", id, network, err)
	}
}

// networks are those of the checkpoint, which has to be sound.
func (n *ailing) networks() []string {
	n.t.Helper()
	var names []string
	err := n.state(nil).Store.ReadWhole(func(tx *store.Tx) error { names = tx.Networks(); return tx.Verify() })
	if err != nil {
		n.t.Fatal(err)
	}
	return names
}

// forgotten forgets podnet, of which nothing may be left but what is host-local's.
func (n *ailing) forgotten() Forgotten {
	n.t.Helper()
	f, err := n.state(nil).Forget("podnet", false)
	if err != nil {
		n.t.Fatal(err)
	}
	if got := n.networks(); slices.Contains(got, "podnet") || !slices.Contains(got, "othernet") {
		n.t.Errorf("stored: %q", got)
	}
	for _, path := range []string{f.Tombstone, n.file(".bolt-local-podnet")} {
		if _, err := os.Lstat(path); err == nil {
			n.t.Errorf("%s is still there", path)
		}
	}
	return f
}

func TestAForgottenNetworkEntersAsAtItsFirstCall(t *testing.T) {
	for _, phase := range []engine.Phase{engine.Legacy, engine.Expand, engine.Switch, engine.Contract} {
		t.Run(string(phase), func(t *testing.T) {
			n := left(t, phase)
			if f := n.forgotten(); (f.Tombstone != "") != (phase == engine.Contract) {
				t.Errorf("the tombstone is %q", f.Tombstone)
			}
			if _, err := n.state(nil).Forget("podnet", false); !errors.Is(err, engine.ErrUnknown) {
				t.Errorf("the second time: %v", err)
			}
			n.mustAdd("podnet", string(phase), "b")
			if got, _ := n.held("podnet"); len(got) != 1 {
				t.Errorf("podnet has %v", got)
			}
			if got, _ := n.held("othernet"); len(got) != 1 {
				t.Errorf("othernet has %v", got)
			}
		})
	}
}

func TestOnlyANetworkThatNobodyUsesIsForgotten(t *testing.T) {
	for story, c := range map[string]struct {
		phase engine.Phase
		use   func(n *ailing)
		says  string
	}{
		"it holds an address":           {engine.Contract, func(n *ailing) { n.mustAdd("podnet", "", "b") }, "holds 1 of its addresses"},
		"so in the phases before":       {engine.Switch, func(n *ailing) { n.mustAdd("podnet", "switch", "b") }, "`bolt-local dump --network podnet --data-dir "},
		"host-local has given one":      {engine.Switch, func(n *ailing) { n.hostLocalAdds("podnet", "10.6.0.9", "theirs") }, "holds 1 of its addresses"},
		"a file sets an address aside":  {engine.Switch, func(n *ailing) { n.setsAside("10.6.0.9") }, "`bolt-local migrate rollback --network podnet --data-dir "},
		"files of the boot before":      {engine.Expand, func(n *ailing) { n.mustAdd("podnet", "expand", "b"); n.ended("b"); n.boot = "boot-000002" }, "has files for 1 of its addresses"},
		"host-local has run beside it":  {engine.Contract, func(n *ailing) { n.untombed(); n.hostLocalAdds("podnet", "10.6.0.9", "theirs") }, "holds 1 of its addresses"},
		"a link is in the place":        {engine.Contract, func(n *ailing) { n.untombed(); n.linked() }, "is a symbolic link"},
		"nobody can look what is there": {engine.Contract, func(n *ailing) { n.untombed(); n.piped() }, "is neither a directory nor a regular file"},
	} {
		t.Run(story, func(t *testing.T) {
			n := left(t, c.phase)
			c.use(n)
			for _, dryRun := range []bool{true, false} {
				_, err := n.state(nil).Forget("podnet", dryRun)
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("dry run %v: %v, want %q", dryRun, err, c.says)
				}
			}
			if !slices.Contains(n.networks(), "podnet") {
				t.Error("it is forgotten")
			}
		})
	}
}

// setsAside leaves what a killed host-local does in podnet's directory.
func (n *ailing) setsAside(addr string) {
	n.t.Helper()
	if err := os.WriteFile(n.file("podnet", addr), nil, 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// untombed removes podnet's tombstone.
func (n *ailing) untombed() {
	n.t.Helper()
	if err := os.Remove(n.file("podnet")); err != nil {
		n.t.Fatal(err)
	}
}

// linked puts a link in the place of podnet's directory.
func (n *ailing) linked() {
	n.t.Helper()
	if err := os.Symlink(n.t.TempDir(), n.file("podnet")); err != nil {
		n.t.Fatal(err)
	}
}

func (n *ailing) piped() {
	n.t.Helper()
	if err := unix.Mkfifo(n.file("podnet"), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func TestWhereAllocationsAreMissingNothingIsForgotten(t *testing.T) {
	n := left(t, engine.Contract)
	n.lostAll()
	n.repaired(store.Repair{})
	for _, dryRun := range []bool{true, false} {
		_, err := n.state(nil).Forget("othernet", dryRun)
		n.refused("forgetting", err)
	}
	n.repaired(store.Repair{Accept: true})
	if _, err := n.state(nil).Forget("podnet", false); err != nil {
		t.Errorf("once it is accepted: %v", err)
	}
}

func TestAllocationsOfThePreviousBootAreForgotten(t *testing.T) {
	n := left(t, engine.Contract)
	n.mustAdd("podnet", "", "b")
	n.mustAdd("podnet", "", "c")
	n.ended("b")
	n.ended("c")
	n.boot = "boot-000002"
	f, err := n.state(nil).Forget("podnet", true)
	if err != nil || f.PreviousBoot != 2 || f.Tombstone != n.file("podnet") {
		t.Errorf("a dry run would remove %+v (%v)", f, err)
	}
	if !slices.Contains(n.networks(), "podnet") {
		t.Error("the dry run has done it")
	}
	n.forgotten()
}

func TestADelThatWaitsIsCarriedOutBeforeItsNetworkIsForgotten(t *testing.T) {
	n := left(t, engine.Contract)
	n.mustAdd("podnet", "", "b")
	n.ended("b")
	n.waits("podnet", "b", "eth0")
	n.forgotten()
	if waiting := n.state(nil).Store.CountDeferred(); waiting != 0 {
		t.Errorf("%d DELs wait", waiting)
	}
}

// A kill at any point leaves what a second call ends, and what an ADD goes on
// from: never a tombstone of this boot whose network is not stored.
func TestAForgetThatIsKilledIsEndedByTheNextOrUndoneByAnAdd(t *testing.T) {
	for _, point := range []string{"store.before-commit", "store.after-commit", "store.after-journal", "store.after-witness"} {
		t.Run(point, func(t *testing.T) {
			n := left(t, engine.Contract)
			n.killedAt(point, func() { n.forgotten() })
			if _, err := n.state(nil).Forget("podnet", false); err != nil && !errors.Is(err, engine.ErrUnknown) {
				t.Errorf("the second forget: %v", err)
			}
			n.mustAdd("podnet", "", "b")

			n = left(t, engine.Contract)
			n.killedAt(point, func() { n.forgotten() })
			n.mustAdd("podnet", "", "b")
			if got, phase := n.held("podnet"); len(got) != 1 || phase != engine.Contract {
				t.Errorf("podnet has %v, in %s", got, phase)
			}
			if _, err := os.Lstat(n.file("podnet")); err != nil {
				t.Errorf("no tombstone: %v", err)
			}
		})
	}
}

// killedAt leaves the directory as it was when call passed the point.
func (n *ailing) killedAt(point string, call func()) {
	n.t.Helper()
	then := filepath.Join(n.t.TempDir(), "then")
	before := failpoint.Hook
	failpoint.Hook = func(name string) {
		if name != point {
			return
		}
		if err := os.CopyFS(then, os.DirFS(n.dir)); err != nil {
			n.t.Error(err)
		}
	}
	call()
	failpoint.Hook = before
	if err := errors.Join(os.RemoveAll(n.dir), os.Rename(then, n.dir)); err != nil {
		n.t.Fatal(err)
	}
}

func TestATombstoneThatIsNotOursStays(t *testing.T) {
	for story, text := range map[string]string{
		"a file of somebody":  "keep out\n",
		"another network's":   "x\nbolt-local-tombstone 1\nnetwork: other\ndata directory: DIR\nboot: boot-000001\n",
		"another directory's": "x\nbolt-local-tombstone 1\nnetwork: podnet\ndata directory: /elsewhere\nboot: boot-000001\n",
	} {
		t.Run(story, func(t *testing.T) {
			n := left(t, engine.Contract)
			text = strings.ReplaceAll(text, "DIR", n.dir)
			if err := os.WriteFile(n.file("podnet"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if f := n.forgotten(); f.Tombstone != "" {
				t.Errorf("the tombstone is %q", f.Tombstone)
			}
			if b, err := os.ReadFile(n.file("podnet")); err != nil || string(b) != text {
				t.Errorf("it is now %q (%v)", b, err)
			}
		})
	}
}

func TestFilesOfOthersBesideTheTombstoneStay(t *testing.T) {
	n := left(t, engine.Contract)
	beside := n.file(".bolt-local-podnet")
	err := errors.Join(os.Mkdir(beside, 0o755), os.WriteFile(filepath.Join(beside, "10.6.0.2"), []byte("a\r\neth0"), 0o600),
		os.WriteFile(filepath.Join(beside, "note"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.state(nil).Forget("podnet", false); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(beside); err != nil || len(entries) != 1 || entries[0].Name() != "note" {
		t.Errorf("beside it is %v (%v)", entries, err)
	}
	if len(n.warned) == 0 || !strings.Contains(n.warned[len(n.warned)-1], beside) {
		t.Errorf("told: %q", n.warned)
	}
}

// A refusal changes nothing, the tombstone included.
func TestForgettingOnAReadOnlyCheckpointLeavesTheTombstone(t *testing.T) {
	n := newAiling(t)
	n.mustAdd("podnet", "", "a")
	n.ended("a")
	if err := n.plugin().Del(n.call("podnet", "", "a")); err != nil {
		t.Fatal(err)
	}
	err := n.state(nil).Store.Read(func(tx *store.Tx) error {
		return n.state(nil).forgettable(tx, "podnet", &Forgotten{}, func(v engine.View) error {
			return n.state(nil).forget(tx, "podnet", v, Forgotten{Tombstone: v.Progress.OldPath, says: *v.Old.Shut})
		})
	})
	if err == nil {
		t.Error("it was forgotten")
	}
	if _, err := os.Stat(n.file("podnet")); err != nil {
		t.Errorf("the tombstone: %v", err)
	}
}
