package migration

import (
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// wipes are what people and programs do to host-local's directory. Inodes are
// used again at once on ext4, so what is made anew may look like what was.
var wipes = map[string]func(network) error{
	"removed whole":         func(n network) error { return os.RemoveAll(n.dir()) },
	"emptied with its lock": func(n network) error { return empty(n.dir()) },
	"removed and made anew": func(n network) error {
		if err := os.RemoveAll(n.dir()); err != nil {
			return err
		}
		return os.Mkdir(n.dir(), 0o755)
	},
	"replaced by an empty one": func(n network) error {
		aside, err := os.MkdirTemp(filepath.Dir(n.parent), "aside-")
		if err != nil {
			return err
		}
		if err := os.Rename(n.dir(), filepath.Join(aside, n.name)); err != nil {
			return err
		}
		return os.Mkdir(n.dir(), 0o755)
	},
	"removed with all of its parent": podmanWipe,
}

// podmanWipe is what podman's unit does at each boot.
func podmanWipe(n network) error { return empty(n.parent) }

// empty removes all that is in a directory.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// guestAddress is one that nobody is given by itself here.
var guestAddress = netip.MustParseAddr("10.97.0.200")

func TestTheLivingKeepTheirAddressesAfterAWipe(t *testing.T) {
	t.Parallel()
	if !testenv.InOwnMounts(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	onDisk := func(t *testing.T) string { return t.TempDir() }
	onTmpfs := func(t *testing.T) string { return testenv.Tmpfs(t, 64<<20) }
	for _, c := range []struct {
		name, phase string
		dir         func(*testing.T) string
	}{
		{"in switch", switched, onDisk},
		{"in switch on tmpfs", switched, onTmpfs},
		{"in expand", expand, onDisk},
	} {
		for name, wipe := range wipes {
			t.Run(name+" "+c.name+", and bolt-local is next", func(t *testing.T) {
				newNetwork(t, c.dir(t)).expectSurvivors(t, c.phase, wipe)
			})
			t.Run(name+" "+c.name+", and host-local is next", func(t *testing.T) {
				newNetwork(t, c.dir(t)).expectSurvivorsAndGuests(t, c.phase, wipe)
			})
		}
	}
}

// before is a network with pods of both binaries, in a phase.
func (n network) before(t *testing.T, phase string) held {
	t.Helper()
	pods := held{}
	pods.add(t, n.theirs(), "old")
	pods.add(t, n.ours(phase), "web")
	pods.add(t, n.ours(phase), "db")
	return pods
}

func (n network) wipe(t *testing.T, wipe func(network) error) {
	t.Helper()
	if err := wipe(n); err != nil {
		t.Fatal(err)
	}
}

func (n network) expectSurvivors(t *testing.T, phase string, wipe func(network) error) {
	t.Helper()
	pods := n.before(t, phase)
	n.wipe(t, wipe)
	n.expectDump(t, pods) // reading sees through it, too
	pods.add(t, n.ours(phase), "new")
	n.expectIn(t, phase, pods)

	n.wipe(t, wipe)
	pods.del(t, n.ours(phase), "old")
	n.expectIn(t, phase, pods)
	pods.add(t, n.theirs(), "visitor")
	n.expectIn(t, phase, pods)
}

// expectSurvivorsAndGuests: host-local starts from nothing, and gives out what
// is held. Both holders are known then, and each goes by itself.
func (n network) expectSurvivorsAndGuests(t *testing.T, phase string, wipe func(network) error) {
	t.Helper()
	pods := n.before(t, phase)
	n.wipe(t, wipe)
	intruder := n.theirs().add(t, "intruder")
	n.theirs().addAt(t, "guest", guestAddress)
	pods["guest"] = guestAddress

	pods.add(t, n.ours(phase), "new")
	n.expectHolders(t, pods, "intruder", intruder)
	pods.add(t, n.theirs(), "newer")
	n.theirs().del(t, "intruder")
	pods.add(t, n.ours(phase), "newest")
	n.expectIn(t, phase, pods)
}

// No detector can see this: host-local frees an address in the very same way.
func TestSingleFilesRemovedByHandAreBelieved(t *testing.T) {
	for _, phase := range []string{expand, switched} {
		t.Run(phase, func(t *testing.T) {
			n := newNetwork(t, t.TempDir())
			pods := n.before(t, phase)
			if err := os.Remove(filepath.Join(n.dir(), pods["web"].String())); err != nil {
				t.Fatal(err)
			}
			delete(pods, "web")
			pods.add(t, n.ours(phase), "new")
			n.expectIn(t, phase, pods)
			for _, addr := range pods { // rm 10.*
				if err := os.Remove(filepath.Join(n.dir(), addr.String())); err != nil {
					t.Fatal(err)
				}
			}
			n.expectDump(t, held{})
			pods = held{}
			pods.add(t, n.ours(phase), "first")
			n.expectIn(t, phase, pods)
		})
	}
}

// A backup that is played back has the files of its day, all of them new.
func TestADirectoryThatIsPutBackFromACopyIsMerged(t *testing.T) {
	n := newNetwork(t, t.TempDir())
	pods := n.before(t, switched)
	backup := filepath.Join(t.TempDir(), "backup")
	if out, err := exec.Command("cp", "-a", n.dir(), backup).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	pods.add(t, n.ours(switched), "late")
	n.wipe(t, func(n network) error {
		if err := os.RemoveAll(n.dir()); err != nil {
			return err
		}
		return os.Rename(backup, n.dir())
	})
	n.expectDump(t, pods)
	pods.add(t, n.ours(switched), "new")
	n.expectInSwitch(t, pods)
	pods.del(t, n.theirs(), "web")
	pods.add(t, n.ours(switched), "newer")
	n.expectInSwitch(t, pods)
}

// podman empties the parent at each boot. Nobody lives then, and host-local may
// have been called before us.
func TestAWipeAtBootBringsNobodyBack(t *testing.T) {
	t.Parallel()
	if !testenv.InOwnMounts(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	for name, c := range map[string]struct {
		target string
		phase  string // before the boot
		wipe   func(network) error
		sticky bool // who comes again has its address again
	}{
		"in switch":                            {switched, switched, podmanWipe, true},
		"in expand":                            {expand, expand, podmanWipe, true},
		"in switch, the directory is kept":     {switched, switched, func(network) error { return nil }, true},
		"in switch, with lock and cursor kept": {switched, switched, removeReservations, false},
		"in contract":                          {contract, contract, podmanWipe, true},
	} {
		for _, theirsFirst := range []bool{false, true} {
			title := name
			if theirsFirst {
				title += ", and host-local is called first"
			}
			t.Run(title, func(t *testing.T) {
				boot := testenv.FakeBoot(t)
				n := newNetwork(t, t.TempDir())
				before := n.beforeBoot(t, c.target)
				n.expectPhase(t, c.phase)

				boot.Reboot(t)
				n.wipe(t, c.wipe)
				pods := held{}
				phase := c.phase
				if theirsFirst {
					pods.add(t, n.theirs(), "guest")
					phase = earlier(phase, switched)
				}
				pods.add(t, n.ours(phase), "new")
				n.expectIn(t, phase, pods)

				// Its old address, where nobody has taken that.
				_, taken := pods.holder(before["db"])
				pods.add(t, n.ours(phase), "db")
				if c.sticky && !taken && pods["db"] != before["db"] {
					t.Errorf("db had %s before the boot, which is free, and has %s now", before["db"], pods["db"])
				}
				n.expectIn(t, phase, pods)
			})
		}
	}
}

// beforeBoot is before, without host-local's pods where they would keep the
// network from contract.
func (n network) beforeBoot(t *testing.T, target string) held {
	t.Helper()
	if target != contract {
		return n.before(t, target)
	}
	pods := held{}
	pods.add(t, n.ours(contract), "web")
	pods.add(t, n.ours(contract), "db")
	return pods
}

// earlier is the earlier of two phases.
func earlier(a, b string) string {
	for _, p := range phases {
		if p == a || p == b {
			return p
		}
	}
	return a
}

// removeReservations leaves what is no address.
func removeReservations(n network) error {
	return filepath.WalkDir(n.dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if _, err := netip.ParseAddr(d.Name()); err != nil {
			return nil
		}
		return os.Remove(path)
	})
}
