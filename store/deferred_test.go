package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

func deferredDel(network, id, ifname string) Deferred {
	return Deferred{Network: network, Attachment: record.Attachment{ContainerID: id, IfName: ifname}}
}

// defers leaves DELs to be done.
func (n *node) defers(all ...Deferred) {
	n.t.Helper()
	for _, d := range all {
		if err := n.Defer(d); err != nil {
			n.t.Fatal(err)
		}
	}
}

// due are the DELs of a network that wait. Nothing is done.
func (n *node) due(network string) []Deferred {
	n.t.Helper()
	var due []Deferred
	err := n.Update(opDel, func(tx *Tx) (err error) {
		due, err = tx.Network(network).Deferred()
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return due
}

// carriesOut does what waits for podnet.
func (n *node) carriesOut() (count int) {
	n.t.Helper()
	err := n.update(opDel, func(net *Network) error {
		due, err := net.Deferred()
		count = len(due)
		for _, d := range due {
			held, heldErr := net.HeldBy(d.Attachment)
			err = errors.Join(err, heldErr)
			for _, a := range held {
				err = errors.Join(err, net.Delete(a.Addr))
			}
			err = errors.Join(err, net.MarkDone(d))
		}
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return count
}

func (n *node) deferredFiles() []string {
	n.t.Helper()
	entries, err := os.ReadDir(n.file(DeferredDir))
	if err != nil {
		n.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestADeferredDelIsCarriedOutOnce(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.defers(deferredDel("podnet", "a", "eth0"), deferredDel("other", "a", "eth0"))
	if count := n.carriesOut(); count != 1 || len(n.held()) > 0 {
		t.Errorf("%d carried out, held %v", count, n.held())
	}
	if n.CountDeferred() != 1 || len(n.due("other")) != 1 {
		t.Error("that of another network was touched")
	}
	n.add("10.0.0.2", "a")
	if count := n.carriesOut(); count != 0 || len(n.held()) != 1 {
		t.Errorf("%d carried out, held %v", count, n.held())
	}
	n.journalIsComplete()
}

// A process that is killed after its commit leaves the file.
func TestADeferredDelWhoseFileStaysIsNotCarriedOutTwice(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.defers(deferredDel("podnet", "a", "eth0"))
	n.keepingFiles(func() { n.carriesOut() })
	if n.CountDeferred() != 1 || len(n.held()) > 0 {
		t.Fatalf("%d wait, held %v", n.CountDeferred(), n.held())
	}
	n.keepingFiles(func() { n.add("10.0.0.2", "a") })
	if due := n.due("podnet"); len(due) > 0 {
		t.Errorf("due again: %+v", due)
	}
	if n.CountDeferred() != 0 || len(n.held()) != 1 {
		t.Errorf("%d wait, held %v", n.CountDeferred(), n.held())
	}
	if n.carriesOut(); n.content()["networks/podnet/deferred"] != "" {
		t.Error("the mark of a file that is gone stays")
	}
	n.journalIsComplete()
}

// keepingFiles takes the directory away between a commit and the removal of what
// was done.
func (n *node) keepingFiles(run func()) {
	n.t.Helper()
	away := n.file(DeferredDir) + ".away"
	points(n.t, func(name string) {
		if name == "store.after-witness" {
			if err := os.Rename(n.file(DeferredDir), away); err != nil {
				n.t.Error(err)
			}
		}
	}, run)
	if err := os.Rename(away, n.file(DeferredDir)); err != nil {
		n.t.Fatal(err)
	}
}

// The same attachment may be added and deleted again before the file of its
// first DEL could be removed.
func TestALaterDelOfTheSameAttachmentIsAnotherOne(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.defers(deferredDel("podnet", "a", "eth0"))
	n.keepingFiles(func() { n.carriesOut() })
	n.keepingFiles(func() { n.add("10.0.0.2", "a") })
	n.defers(deferredDel("podnet", "a", "eth0"))
	if count := n.carriesOut(); count != 1 || len(n.held()) > 0 {
		t.Errorf("%d carried out, held %v", count, n.held())
	}
}

func TestADeferredDelOfAFailedCallWaitsOn(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.defers(deferredDel("podnet", "a", "eth0"))
	err := n.update(opAdd, func(net *Network) error {
		due, err := net.Deferred()
		if err != nil || len(due) != 1 {
			t.Fatalf("due %+v, %v", due, err)
		}
		return errors.Join(net.MarkDone(due[0]), errTest)
	})
	if !errors.Is(err, errTest) || n.CountDeferred() != 1 {
		t.Errorf("%v, %d wait", err, n.CountDeferred())
	}
	if count := n.carriesOut(); count != 1 {
		t.Errorf("%d carried out", count)
	}
}

func TestDeferringNeedsNoCheckpoint(t *testing.T) {
	n := newNode(t)
	n.defers(deferredDel("podnet", "a", "eth0"))
	if n.CountDeferred() != 1 || exists(n.Path()) {
		t.Error("it was not deferred, or a checkpoint was made")
	}
	for path, want := range map[string]os.FileMode{n.dir: 0o700, n.file(DeferredDir): 0o700, filepath.Join(n.file(DeferredDir), n.deferredFiles()[0]): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
}

// Its mark is all that tells that it was carried out.
func TestAMarkStaysWhileItsFileIsThere(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	d := Deferred{Network: "podnet", Attachment: record.Attachment{ContainerID: "a", IfName: "eth0"}}
	if err := n.Defer(d); err != nil {
		t.Fatal(err)
	}
	carryOut := func() (due int) {
		err := n.update(opAdd, func(net *Network) error {
			all, err := net.Deferred()
			due = len(all)
			for _, d := range all {
				err = errors.Join(err, net.MarkDone(d))
			}
			net.tx.done = nil // killed before the file is removed
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return due
	}
	if first, again := carryOut(), carryOut(); first != 1 || again != 0 {
		t.Fatalf("%d are due, and then %d", first, again)
	}
	name, _ := d.fileName()
	dir, aside := n.file(DeferredDir), filepath.Join(t.TempDir(), "aside")                                   // to move the file itself would make it another
	if err := errors.Join(os.Rename(dir, aside), os.MkdirAll(filepath.Join(dir, name), 0o700)); err != nil { // nothing that can be read
		t.Fatal(err)
	}
	carryOut()
	if err := errors.Join(os.RemoveAll(dir), os.Rename(aside, dir)); err != nil {
		t.Fatal(err)
	}
	if due := carryOut(); due != 0 {
		t.Errorf("%d are due again", due)
	}
}
