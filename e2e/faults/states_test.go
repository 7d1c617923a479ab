package faults

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// These make the states that the calls come upon. Each returns what is held.

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
		pods.add(t, n.ours(phase), "db")
		return pods
	}
}

func afterHostLocal(t *testing.T, n network) held {
	t.Helper()
	pods := reached(switched)(t, n)
	n.theirs().run(t, "DEL", "old")
	pods = pods.without("old")
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

// readyFor is a network in switch from which the pods of host-local are gone, and
// whose configuration has a target.
func readyFor(target string) func(*testing.T, network) held {
	return func(t *testing.T, n network) held {
		t.Helper()
		pods := reached(target)(t, n)
		n.ours(target).run(t, "DEL", "old")
		return pods.without("old")
	}
}

// inExpandByHand is a network that was taken back to expand.
func inExpandByHand(t *testing.T, n network) held {
	t.Helper()
	pods := reached(noTarget)(t, n)
	if _, err := lab.Tool(t.Context(), n.boltLocal, migrate("rollback")(n)...); err != nil {
		t.Fatal(err)
	}
	return pods
}

func inContract(t *testing.T, n network) held {
	t.Helper()
	return attachAll(t, n.ours(contract))
}

// born is a network that has never had a directory or a target.
func born(t *testing.T, n network) held {
	t.Helper()
	return attachAll(t, n.ours(noTarget))
}

func attachAll(t *testing.T, p plugin) held {
	t.Helper()
	pods := held{}
	for _, id := range []string{"web", "db", "mail"} {
		pods.add(t, p, id)
	}
	return pods
}

// unused is a network in contract whose pods are gone.
func unused(t *testing.T, n network) held {
	t.Helper()
	pods := inContract(t, n)
	for id := range pods {
		n.ours(contract).run(t, "DEL", id)
	}
	return held{}
}

// damaged is a network in contract whose checkpoint has lost its first pages.
func damaged(t *testing.T, n network) held {
	t.Helper()
	pods := inContract(t, n)
	n.damage(t)
	return pods
}

// damagedInSwitch is the same in switch, and the journal is gone.
func damagedInSwitch(t *testing.T, n network) held {
	t.Helper()
	pods := reached(switched)(t, n)
	n.damage(t)
	if err := os.Remove(filepath.Join(n.dataDir, "journal")); err != nil {
		t.Fatal(err)
	}
	return pods
}

func (n network) damage(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(n.checkpoint(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(make([]byte, 3*os.Getpagesize()), 0)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// afterBackup is a network that has changed since its backup was made.
func afterBackup(t *testing.T, n network) held {
	t.Helper()
	pods := inContract(t, n)
	if _, err := lab.Tool(t.Context(), n.boltLocal, backup(n)...); err != nil {
		t.Fatal(err)
	}
	n.ours(contract).run(t, "DEL", "web")
	pods = pods.without("web")
	pods.add(t, n.ours(contract), "shop")
	return pods
}
