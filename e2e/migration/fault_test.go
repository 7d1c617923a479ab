package migration

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// step is a way from one phase to the next, which an ADD takes.
type step struct {
	prepare func(*testing.T, network) held
	target  string
}

var steps = map[string]step{
	"the import":              {onHostLocal, switched},
	"the step to expand":      {reached(legacy), expand},
	"the step to switch":      {reached(expand), switched},
	"the step to contract":    {readyToContract, contract},
	"an ADD in contract":      {inContract, contract},
	"the step back to switch": {inContract, switched},
	"the step back to expand": {reached(switched), expand},
	"the step back to legacy": {reached(expand), legacy},
}

// expectWhole makes an ADD that may fail, for want of what it may not write, and
// checks that nothing is half done.
func (n network) expectWhole(t *testing.T, target string, pods held) (failed bool) {
	t.Helper()
	ours := n.ours(target)
	reply := ours.try(t, ours.call("ADD", "tried"))
	if failed = reply.Failed(); failed {
		n.expectIOError(t, reply)
	} else {
		pods.note(t, "tried", address(t, reply))
	}
	n.expectHeld(t, pods)
	return failed
}

// expectIOError checks that an error has its code, and says where.
func (n network) expectIOError(t *testing.T, reply lab.Reply) {
	t.Helper()
	text := reply.Error().Error()
	if reply.ErrorCode() != types.ErrIOFailure {
		t.Errorf("code %d, want %d: %s", reply.ErrorCode(), types.ErrIOFailure, text)
	}
	if !strings.Contains(text, n.dataDir) && !strings.Contains(text, n.parent) {
		t.Errorf("the error names neither %s nor %s: %s", n.dataDir, n.parent, text)
	}
}

// expectHeld checks what is held in whatever phase, in all forms that are there.
func (n network) expectHeld(t *testing.T, pods held) {
	t.Helper()
	if got, phase := n.dump(t); phase != "" {
		pods.expect(t, "dump", got)
	}
	if !n.isShut() {
		pods.expect(t, "host-local's directory", n.files(t))
	}
}

// expectNothingBeside checks that what a swap makes ready is gone.
func (n network) expectNothingBeside(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(n.parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != n.name {
			t.Errorf("%s is left in %s", e.Name(), n.parent)
		}
	}
}

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
					n.expectHeld(t, pods)
				}
				disk.Empty(t)
				pods.add(t, n.ours(s.target), "after")
				n.settle(t, pods)
				n.expectNothingBeside(t)
			})
		}
	}
}

// nobody is a user that is not root, whom permissions stop.
var nobody = &syscall.Credential{Uid: 65534, Gid: 65534}

// faults make a part of the state useless until they are undone. None of them
// touches host-local's files, whose change times tell who wrote them.
var faults = map[string]func(*testing.T, network) (undo func()){
	"a read-only parent": func(t *testing.T, n network) func() {
		return testenv.BindOver(t, n.parent, unix.MS_RDONLY)
	},
	"a read-only data directory": func(t *testing.T, n network) func() {
		return testenv.BindOver(t, n.dataDir, unix.MS_RDONLY)
	},
	"a parent of another user":           func(t *testing.T, n network) func() { return foreign(t, n.parent, 0o755) },
	"a directory that may not be read":   func(t *testing.T, n network) func() { return foreign(t, n.dir(), 0o700) },
	"a data directory that is forbidden": func(t *testing.T, n network) func() { return foreign(t, n.dataDir, 0o700) },
}

// foreign gives a directory to root, or the tombstone that is there, until that
// is undone, wherever it may stand by then.
func foreign(t *testing.T, path string, mode os.FileMode) (undo func()) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	change := func(user int, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(f.Chown(user, user), f.Chmod(mode)); err != nil {
			t.Fatal(err)
		}
	}
	change(0, mode)
	return func() { change(int(nobody.Uid), info.Mode().Perm()) }
}

func TestAStepThatMayNotWriteWaitsOrFailsAndLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	if !testenv.InOwnMounts(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	for name, s := range steps {
		for fault, strike := range faults {
			t.Run(name+", "+fault, func(t *testing.T) {
				n := newNetwork(t, openDir(t))
				n.user = nobody
				n.hostLocal, n.boltLocal = install(t, n.hostLocal), install(t, n.boltLocal)
				pods := s.prepare(t, n)
				if _, err := os.Stat(n.dataDir); err != nil { // it is not there yet
					if err := errors.Join(os.Mkdir(n.dataDir, 0o700), os.Chown(n.dataDir, int(nobody.Uid), int(nobody.Gid))); err != nil {
						t.Fatal(err)
					}
				}
				undo := strike(t, n)
				n.expectWhole(t, s.target, pods)
				if n.expectWhole(t, s.target, pods) { // the same again
					n.expectUnavailable(t, s.target)
				}
				for _, id := range pods.ids() {
					p := n.ours(s.target)
					if reply := p.try(t, p.call("DEL", id)); reply.Failed() {
						n.expectIOError(t, reply)
					} else {
						delete(pods, id)
					}
					n.expectHeld(t, pods)
				}
				undo()
				pods.add(t, n.ours(s.target), "after")
				n.settle(t, pods)
				n.expectNothingBeside(t)
			})
		}
	}
}

// expectUnavailable checks that STATUS tells that an ADD would fail.
func (n network) expectUnavailable(t *testing.T, target string) {
	t.Helper()
	p := n.ours(target)
	status := p.call("STATUS", "")
	if reply := p.try(t, status); reply.ErrorCode() != types.ErrPluginNotAvailable {
		t.Errorf("STATUS says %v, stdout %s; want code %d", reply.Error(), reply.Stdout, types.ErrPluginNotAvailable)
	}
}

// A DEL that is the first call of bolt-local at all finds no checkpoint. What it
// cannot read is not nothing.
func TestTheFirstDELFailsWhereTheDirectoryMayNotBeRead(t *testing.T) {
	if !testenv.InOwnMounts(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	n := newNetwork(t, openDir(t))
	n.user = nobody
	n.hostLocal, n.boltLocal = install(t, n.hostLocal), install(t, n.boltLocal)
	pods := onHostLocal(t, n)
	undo := foreign(t, n.dir(), 0o700)
	ours := n.ours(noTarget)
	if reply := ours.try(t, ours.call("DEL", "old")); reply.Failed() {
		n.expectIOError(t, reply)
	} else {
		t.Errorf("DEL of old succeeded, and %v is there", n.reservations(t))
	}
	undo()
	n.expectHeld(t, pods)
	pods.del(t, ours, "old")
	n.expectHeld(t, pods)
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
