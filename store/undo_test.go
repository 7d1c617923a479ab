package store

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
)

// failLastSync commits and then reports what a failed last fdatasync would.
func failLastSync(tx *bolt.Tx) error { return errors.Join(tx.Commit(), syscall.EIO) }

func TestACommitThatFailsInItsLastSyncIsTakenBack(t *testing.T) {
	for name, fail := range map[string]func(net *Network) error{
		"an allocation": func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.9", "z")) },
		"one anew":      func(net *Network) error { return net.Put(allocation(net.Epoch(), addrAt(1), "z")) },
		"a deletion":    func(net *Network) error { return net.Delete(ip(addrAt(0))) },
		"several": func(net *Network) error {
			return errors.Join(net.Delete(ip(addrAt(0))), net.Put(allocation(0, addrAt(0), "y")), net.Delete(ip(addrAt(2))), net.Put(allocation(0, addrAt(3), "y")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodeWith(t, 3)
			want := n.held()
			n.commitBolt = failLastSync
			if err := n.update(opAdd, fail); !errors.Is(err, syscall.EIO) {
				t.Fatalf("err = %v", err)
			}
			n.commitBolt = (*bolt.Tx).Commit
			if cmp.Equal(want, n.held()) {
				t.Fatal("the failed commit is not to be seen: this test tests nothing")
			}
			n.del("10.99.0.1") // the next writer, with nothing of its own to write
			if diff := cmp.Diff(want, n.held()); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			n.journalIsComplete()
			if _, err := os.Stat(n.file(UndoFile)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the undo file is still there: %v", err)
			}
		})
	}
}

func TestACommitThatFailedEarlierNeedsNoUndo(t *testing.T) {
	n := newNodeWith(t, 3)
	want := n.held()
	n.commitBolt = func(tx *bolt.Tx) error { return errors.Join(tx.Rollback(), syscall.EIO) }
	if err := n.update(opAdd, func(net *Network) error { return net.Delete(ip(addrAt(0))) }); !errors.Is(err, syscall.EIO) {
		t.Fatalf("err = %v", err)
	}
	n.commitBolt = (*bolt.Tx).Commit
	n.add("10.0.0.9", "z")
	want["10.0.0.9"] = "z"
	if diff := cmp.Diff(want, n.held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

func TestAnUndoFileOfAnotherTransactionIsDropped(t *testing.T) {
	n := newNodeWith(t, 3)
	want := n.held()
	n.commitBolt = failLastSync
	if err := n.update(opAdd, func(net *Network) error { return net.Delete(ip(addrAt(0))) }); err == nil {
		t.Fatal("no error")
	}
	n.commitBolt = (*bolt.Tx).Commit
	undo := n.read(UndoFile)
	n.add("10.0.0.9", "z")
	for _, b := range [][]byte{undo, undo[:len(undo)-3], nil} {
		n.write(UndoFile, b)
		n.add("10.0.0.9", "y")
	}
	want["10.0.0.9"] = "y"
	if diff := cmp.Diff(want, n.held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

func TestATornUndoLineSpoilsNoOther(t *testing.T) {
	n := newNodeWith(t, 3)
	want := n.held()
	n.write(UndoFile, []byte(`{"commit":"x","chan`))
	n.commitBolt = failLastSync
	if err := n.update(opAdd, func(net *Network) error { return net.Delete(ip(addrAt(0))) }); err == nil {
		t.Fatal("no error")
	}
	n.commitBolt = (*bolt.Tx).Commit
	n.del("10.99.0.1")
	if diff := cmp.Diff(want, n.held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

// The id of a commit that left no trace is used again by the next one. An undo
// file that could not be removed must not be taken for that one's.
func TestAnUndoFileIsNotAppliedToAnotherCommitOfTheSameID(t *testing.T) {
	n := newNodeWith(t, 3)
	n.commitBolt = func(tx *bolt.Tx) error { return errors.Join(tx.Rollback(), syscall.EIO) }
	if err := n.update(opAdd, func(net *Network) error { return net.Put(allocation(0, "10.0.0.9", "z")) }); err == nil {
		t.Fatal("no error")
	}
	n.commitBolt = (*bolt.Tx).Commit
	undo := n.read(UndoFile)
	n.add("10.0.0.9", "y")
	n.write(UndoFile, undo) // as if it had not been removed
	n.del("10.99.0.1")
	if got := n.held()["10.0.0.9"]; got != "y" {
		t.Errorf("held by %q, want y", got)
	}
}

// A sick disk: commit after commit fails, some to be seen and some not.
func TestCommitsThatFailOneAfterTheOtherAreAllTakenBack(t *testing.T) {
	lost := func(tx *bolt.Tx) error { return errors.Join(tx.Rollback(), syscall.EIO) }
	for name, commits := range map[string][]func(*bolt.Tx) error{
		"seen, seen":       {failLastSync, failLastSync},
		"seen, lost":       {failLastSync, lost},
		"lost, seen":       {lost, failLastSync},
		"seen, lost, seen": {failLastSync, lost, failLastSync},
		"lost, lost":       {lost, lost},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodeWith(t, 3)
			want := n.held()
			for i, commit := range commits {
				n.commitBolt = commit
				err := n.update(opAdd, func(net *Network) error {
					return errors.Join(net.Put(allocation(0, "10.0.9."+string(rune('1'+i)), "z")), net.Delete(ip(addrAt(i))))
				})
				if err == nil {
					t.Fatal("no error")
				}
			}
			n.commitBolt = (*bolt.Tx).Commit
			n.del("10.99.0.1")
			if diff := cmp.Diff(want, n.held()); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
		})
	}
}

// A commit that began an epoch is taken back with its number. What is written
// next must not carry a number that the next boot gets once more.
func TestAnEpochThatIsTakenBackIsBegunAgain(t *testing.T) {
	n := newNodeWith(t, 1)
	n.boot = "boot-002"
	n.commitBolt = failLastSync
	if err := n.update(opAdd, func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.9", "z")) }); err == nil {
		t.Fatal("no error")
	}
	n.commitBolt = (*bolt.Tx).Commit
	n.add("10.0.0.8", "y")
	n.boot = "boot-003"
	n.add("10.0.0.7", "x")
	current, of := n.epochs()
	if current != 3 || of["10.0.0.8"] != 2 || of["10.0.0.7"] != 3 {
		t.Errorf("current %d, records %v: want 3, and 2 for 10.0.0.8, 3 for 10.0.0.7", current, of)
	}
}

// A DEL of what is not there succeeds on a full disk, but has then not taken
// anything back: whoever comes next must.
func TestAnUndoThatFindsNoRoomIsTriedAgain(t *testing.T) {
	n := newNodeWith(t, 3)
	want := n.held()
	n.commitBolt = failLastSync
	if err := n.update(opAdd, func(net *Network) error { return net.Delete(ip(addrAt(0))) }); err == nil {
		t.Fatal("no error")
	}
	n.commitBolt = func(tx *bolt.Tx) error { return errors.Join(tx.Rollback(), syscall.ENOSPC) }
	n.del("10.99.0.1")
	n.commitBolt = (*bolt.Tx).Commit
	n.del("10.99.0.1")
	if diff := cmp.Diff(want, n.held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

// What takes a failed commit back is not for a checkpoint that was made from what
// that has left.
func TestAFailedCommitIsNotTakenBackInACheckpointThatWasRestored(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.9", "z")
	n.hold("10.0.0.2", "a/eth0+")
	n.write("backup", n.backup())
	n.hold("10.0.0.2")
	n.commitBolt = failLastSync
	if err := n.update(opAdd, func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.2", "b")) }); !errors.Is(err, syscall.EIO) {
		t.Fatalf("err = %v", err)
	}
	n.commitBolt = (*bolt.Tx).Commit
	if _, err := n.restored(Repair{}); err != nil {
		t.Fatal(err)
	}
	want := n.holders("10.0.0.2")
	if len(want) != 2 {
		t.Fatalf("restored with %q: this test tests nothing", want)
	}
	n.add("10.0.0.100", "new")
	if got := n.holders("10.0.0.2"); !cmp.Equal(got, want) {
		t.Errorf("held by %q, want %q", got, want)
	}
	n.journalIsComplete()
	if err := n.ReadWhole((*Tx).Verify); err != nil {
		t.Error(err)
	}
}
