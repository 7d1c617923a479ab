package store

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func (n *node) forget(network string) {
	n.t.Helper()
	if err := n.Update(opTool, func(tx *Tx) error { return tx.Forget(network) }); err != nil {
		n.t.Fatalf("forgetting %s: %v", network, err)
	}
}

// networks are those that are stored. The invariants have to hold.
func (n *node) networks() []string {
	n.t.Helper()
	n.held()
	var names []string
	if err := n.Read(func(tx *Tx) error { names = tx.Networks(); return nil }); err != nil {
		n.t.Fatal(err)
	}
	return names
}

func TestAForgottenNetworkLeavesNothingBehind(t *testing.T) {
	n := newFullNode(t)
	var want []string // keys that are another network's, or nobody's
	for key := range n.stays() {
		if !strings.Contains(key, "podnet") {
			want = append(want, key)
		}
	}
	n.forget("podnet")
	if got := slices.Sorted(maps.Keys(n.stays())); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("it has\n%q, want\n%q", got, want)
	}
	if got := n.networks(); !slices.Equal(got, []string{"other"}) {
		t.Errorf("stored: %q", got)
	}
	n.add("10.0.0.9", "e") // and comes again
	if got := n.held(); !maps.Equal(got, map[string]string{"10.0.0.9": "e"}) {
		t.Errorf("held: %v", got)
	}
}

// What is healed comes from the journal, which tells of keys alone.
func TestAForgottenNetworkStaysSoWhereTheCheckpointIsHealed(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			n := newFullNode(t)
			n.forget("podnet")
			damage(n)
			if err := n.heal(); err != nil {
				t.Fatal(err)
			}
			if got := n.networks(); !slices.Equal(got, []string{"other"}) {
				t.Errorf("stored: %q", got)
			}
		})
	}
}

func TestForgettingWhatIsNotStoredWritesNothing(t *testing.T) {
	n := newFullNode(t)
	before := n.digest()
	n.forget("pod") // a name that another begins with
	if n.digest() != before {
		t.Error("the checkpoint has changed")
	}
}

// A bucket without a key is what a commit leaves that was taken back.
func TestANetworkWithoutAKeyIsForgottenToo(t *testing.T) {
	n := newFullNode(t)
	err := n.verifyAfter(func(tx *bolt.Tx) error {
		_, err := tx.Bucket([]byte(bucketNetworks)).CreateBucket([]byte("shell"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	n.write(LockFile, nil) // which names the transaction before
	n.forget("shell")
	if got := n.networks(); !slices.Equal(got, []string{"other", "podnet"}) {
		t.Errorf("stored: %q", got)
	}
}

// Beyond 128 pages a call looks only at those that it needs.
func TestALargeNetworkIsForgotten(t *testing.T) {
	n := newFullNode(t)
	err := n.update(opAdd, func(net *Network) error {
		for i := range 5000 {
			if err := net.Put(allocation(net.Epoch(), addrAt(i), "x")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages := len(n.read(CheckpointFile)) / os.Getpagesize(); pages <= scanPages {
		t.Fatalf("the checkpoint has only %d pages", pages)
	}
	n.forget("podnet")
	if got := n.networks(); !slices.Equal(got, []string{"other"}) {
		t.Errorf("stored: %q", got)
	}
}
