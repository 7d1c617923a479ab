package migration

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

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
				}
				n.expectHeld(t, pods)
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
