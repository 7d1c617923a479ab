package migration

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// killable is a call of bolt-local that is killed, and the state that it comes
// upon.
type killable struct {
	name string
	// prepare makes the state, in which the pod "dead" is not attached, and
	// returns what is held.
	prepare func(*testing.T, network) held
	target  string // of the call
	verb    string
	id      string // its container

	// blind: until the call is done, host-local sees less than is held. Somebody
	// has wiped its directory, or removed the tombstone.
	blind bool
}

// killables are ADD, DEL, import, each step and each step back.
var killables = []killable{
	{"the first ADD, without a directory", nothing, noTarget, "ADD", "dead", false},
	{"the first ADD, of the target switch without a directory", nothing, switched, "ADD", "dead", false},
	{"the first ADD, which imports", onHostLocal, noTarget, "ADD", "dead", false},
	{"the first DEL, which imports", onHostLocal, noTarget, "DEL", "old", false},
	{"the first ADD, of the target legacy", onHostLocal, legacy, "ADD", "dead", false},
	{"ADD in legacy", reached(legacy), legacy, "ADD", "dead", false},
	{"DEL in legacy", reached(legacy), legacy, "DEL", "web", false},
	{"the step to expand", reached(legacy), expand, "ADD", "dead", false},
	{"ADD in expand", reached(expand), expand, "ADD", "dead", false},
	{"DEL in expand", reached(expand), expand, "DEL", "web", false},
	{"the step to switch", reached(expand), switched, "ADD", "dead", false},
	{"ADD in switch", reached(switched), switched, "ADD", "dead", false},
	{"DEL in switch", reached(switched), switched, "DEL", "web", false},
	{"ADD in switch after host-local", afterHostLocal, switched, "ADD", "dead", false},
	{"DEL in switch after host-local", afterHostLocal, switched, "DEL", "web", false},
	{"ADD in switch after a wipe", afterWipe, switched, "ADD", "dead", true},
	{"DEL of one of two holders", twoHolders, switched, "DEL", "intruder", false},
	{"DEL of one of two holders, with no name beside", twoHoldersInTheWay, switched, "DEL", "intruder", false},
	{"the step to contract", readyToContract, contract, "ADD", "dead", false},
	{"ADD in contract", inContract, contract, "ADD", "dead", false},
	{"DEL in contract", inContract, contract, "DEL", "web", false},
	{"ADD in contract without its tombstone", withoutTombstone, contract, "ADD", "dead", true},
	{"ADD in contract after host-local ran beside it", besideTombstone, contract, "ADD", "dead", true},
	{"the step back to switch", inContract, switched, "ADD", "dead", false},
	{"the step back to expand", reached(switched), expand, "ADD", "dead", false},
	{"the step back to legacy", reached(expand), legacy, "ADD", "dead", false},
	{"ADD in switch on a damaged checkpoint", spoiled(reached(switched)), switched, "ADD", "dead", false},
	{"ADD in contract on a damaged checkpoint", spoiled(inContract), contract, "ADD", "dead", false},
	{"DEL in contract on a damaged checkpoint", spoiled(inContract), contract, "DEL", "web", false},
}

// spoiled zeroes a page of the checkpoint: the next call heals it from the
// journal.
func spoiled(prepare func(*testing.T, network) held) func(*testing.T, network) held {
	return func(t *testing.T, n network) held {
		t.Helper()
		pods := prepare(t, n)
		f, err := os.OpenFile(filepath.Join(n.dataDir, "checkpoint.db"), os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteAt(make([]byte, os.Getpagesize()), 0)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		return pods
	}
}

func nothing(*testing.T, network) held { return held{} }

func onHostLocal(t *testing.T, n network) held {
	t.Helper()
	pods := held{}
	pods.add(t, n.theirs(), "old")
	return pods
}

// reached is a network that began on host-local and is in a phase.
func reached(phase string) func(*testing.T, network) held {
	return func(t *testing.T, n network) held {
		t.Helper()
		pods := onHostLocal(t, n)
		pods.add(t, n.ours(phase), "web")
		return pods
	}
}

func afterHostLocal(t *testing.T, n network) held {
	t.Helper()
	pods := reached(switched)(t, n)
	pods.del(t, n.theirs(), "old")
	pods.add(t, n.theirs(), "guest")
	return pods
}

func afterWipe(t *testing.T, n network) held {
	t.Helper()
	pods := reached(switched)(t, n)
	if err := os.RemoveAll(n.dir()); err != nil {
		t.Fatal(err)
	}
	return pods
}

// twoHolders is a network in which "intruder" holds the address of "old", and the
// file names it.
func twoHolders(t *testing.T, n network) held {
	t.Helper()
	pods := afterWipe(t, n)
	n.theirs().add(t, "intruder")
	pods.add(t, n.ours(switched), "db")
	return pods
}

// twoHoldersInTheWay: what stands beside the directory is none of ours, and so
// cannot be used for a swap.
func twoHoldersInTheWay(t *testing.T, n network) held {
	t.Helper()
	pods := twoHolders(t, n)
	beside := filepath.Join(n.parent, ".bolt-local-"+n.name)
	if err := errors.Join(os.Mkdir(beside, 0o755), os.WriteFile(filepath.Join(beside, "notes"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	return pods
}

func readyToContract(t *testing.T, n network) held {
	t.Helper()
	pods := reached(switched)(t, n)
	pods.del(t, n.theirs(), "old")
	return pods
}

func inContract(t *testing.T, n network) held {
	t.Helper()
	pods := held{}
	pods.add(t, n.ours(contract), "web")
	pods.add(t, n.ours(contract), "db")
	return pods
}

func withoutTombstone(t *testing.T, n network) held {
	t.Helper()
	pods := inContract(t, n)
	if err := os.Remove(n.dir()); err != nil {
		t.Fatal(err)
	}
	return pods
}

func besideTombstone(t *testing.T, n network) held {
	t.Helper()
	pods := withoutTombstone(t, n)
	pods["guest"] = pods["db"].Next().Next()
	n.theirs().addAt(t, "guest", pods["guest"])
	return pods
}
