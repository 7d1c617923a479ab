package nodestatus_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store"
)

func readerOf(st *store.Store) nodestatus.Reader {
	plugin := nodestatustest.Plugin()
	return nodestatus.Reader{State: migrate.State{Store: st, Namespaces: plugin.Namespaces, Stale: plugin.Stale}}
}

// storeWith returns a store whose networks each hold addrs.
func storeWith(t *testing.T, networks []string, addrs ...string) *store.Store {
	t.Helper()
	st := store.New(t.TempDir(), store.Options{})
	err := st.Update(store.Op{Verb: "ADD", Creates: true, Runtime: true}, func(tx *store.Tx) error {
		for _, network := range networks {
			for _, addr := range addrs {
				if err := tx.Network(network).Put(nodestatustest.Held(addr, tx.Epoch(), nodestatustest.By("of-"+addr, "eth0", 0))); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func heldIn(snap nodestatus.Snapshot) map[string][]string {
	held := map[string][]string{}
	for _, n := range snap.Networks {
		for _, a := range n.Allocations {
			held[n.Name] = append(held[n.Name], a.Addr.String())
		}
	}
	return held
}

func TestAllNetworksOrOneAreCopied(t *testing.T) {
	st := storeWith(t, []string{"podnet", "storage"}, "10.1.0.2", "10.1.0.3")
	both := []string{"10.1.0.2", "10.1.0.3"}
	for network, want := range map[string]map[string][]string{
		"":        {"podnet": both, "storage": both},
		"storage": {"storage": both},
		"none":    {},
	} {
		snap, err := readerOf(st).Load(network)
		if err != nil || snap.Err() != nil {
			t.Fatalf("network %q: %v, %v", network, err, snap.Err())
		}
		if diff := cmp.Diff(want, heldIn(snap)); diff != "" {
			t.Errorf("network %q: -want +got:\n%s", network, diff)
		}
		if !snap.Exists || snap.Size == 0 || snap.Format.Schema != store.Schema {
			t.Errorf("network %q: %+v", network, snap)
		}
		if boot := snap.Boots[snap.Epoch]; len(want) > 0 && boot != st.BootID() {
			t.Errorf("network %q: the running boot is %q, want %q", network, boot, st.BootID())
		}
	}
}

func TestADamagedRecordIsToldOnceAndTheOthersAreCopied(t *testing.T) {
	st := storeWith(t, []string{"podnet"}, "10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.5")
	spoil(t, st.Path(), "10.1.0.3", "10.1.0.4")
	snap, err := readerOf(st).Load("")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"podnet": {"10.1.0.2", "10.1.0.5"}}, heldIn(snap)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	text := snap.Err().Error()
	if strings.Count(text, "10.1.0.3 has checksum") != 1 || !strings.Contains(text, "and 1 other record of this network") || !snap.Networks[0].Partial {
		t.Errorf("partial = %t, error: %s", snap.Networks[0].Partial, text)
	}
}

// spoil changes the last byte of each record.
func spoil(t *testing.T, checkpoint string, addrs ...string) {
	t.Helper()
	db, err := bolt.Open(checkpoint, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("networks")).Bucket([]byte("podnet")).Bucket([]byte("allocations"))
		for _, addr := range addrs {
			key := nodestatustest.Held(addr, 0).Addr.As16()
			value := append([]byte(nil), b.Get(key[:])...)
			value[len(value)-1] ^= 1
			if err := b.Put(key[:], value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatANewerVersionHasStoredIsCopiedAsFarAsItIsKnown(t *testing.T) {
	st := storeWith(t, []string{"podnet"}, "10.1.0.2")
	err := st.Update(store.Op{Verb: "ADD"}, func(tx *store.Tx) error {
		return tx.Network("podnet").SetMigration(fmt.Appendf(nil, `{"phase":"frozen","target":"melted","waits":"spring","oldPath":"/n/podnet","setAside":[
			{"ip":"10.1.0.7","mark":"now","epoch":%d},
			{"ip":"10.1.0.8","mark":"before","epoch":%d},
			{"ip":"10.1.0.9","mark":"a link","epoch":%[2]d,"fixed":true}]}`, tx.Epoch(), tx.Epoch()-1))
	})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := readerOf(st).LoadVerified("")
	if err != nil {
		t.Fatal(err)
	}
	want := nodestatus.Migration{Phase: "frozen", Target: "melted", Waits: "spring", Directory: "/n/podnet", HostLocalDataDir: "/n", Aside: []form.Aside{
		{Addr: netip.MustParseAddr("10.1.0.7"), Mark: "now", Epoch: snap.Epoch}, // and 10.1.0.8 is given out again
		{Addr: netip.MustParseAddr("10.1.0.9"), Mark: "a link", Epoch: snap.Epoch - 1, Fixed: true},
	}}
	if diff := cmp.Diff(want, snap.Networks[0].Migration, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !errors.Is(snap.Problem, engine.ErrPhase) || len(snap.Networks[0].Allocations) != 1 {
		t.Errorf("problem: %v, %d allocations", snap.Problem, len(snap.Networks[0].Allocations))
	}
}

func TestWhatIsNoCheckpoint(t *testing.T) {
	empty, dir := store.New(t.TempDir(), store.Options{}), store.New(t.TempDir(), store.Options{})
	if err := errors.Join(os.WriteFile(empty.Path(), nil, 0o600), os.Mkdir(dir.Path(), 0o700)); err != nil {
		t.Fatal(err)
	}
	lost := storeWith(t, []string{"podnet"}, "10.1.0.2")
	if err := os.Remove(lost.Path()); err != nil {
		t.Fatal(err)
	}
	for story, c := range map[string]struct {
		st                *store.Store
		exists, irregular bool
		problem           error // nil: none
	}{
		"nothing":         {store.New(t.TempDir(), store.Options{}), false, false, nil},
		"an empty file":   {empty, true, false, store.ErrDamaged},
		"a directory":     {dir, true, true, store.ErrDamaged},
		"one was removed": {lost, false, false, store.ErrDamaged},
	} {
		t.Run(story, func(t *testing.T) {
			snap, err := readerOf(c.st).LoadVerified("")
			if err != nil {
				t.Fatal(err)
			}
			if snap.Path != c.st.Path() || snap.Exists != c.exists || snap.Irregular != c.irregular || len(snap.Networks) > 0 {
				t.Errorf("got %+v", snap)
			}
			if !errors.Is(snap.Problem, c.problem) || (snap.Problem == nil) != (c.problem == nil) {
				t.Errorf("problem: %v, want %v", snap.Problem, c.problem)
			}
		})
	}
}

func TestDELsThatWaitAreCountedWhereAllIsVerified(t *testing.T) {
	st := storeWith(t, []string{"podnet"}, "10.1.0.2")
	for _, id := range []string{"a", "b"} {
		d := store.Deferred{Network: "podnet"}
		d.ContainerID, d.IfName = id, "eth0"
		if err := st.Defer(d); err != nil {
			t.Fatal(err)
		}
	}
	r := readerOf(st)
	for name, c := range map[string]struct {
		load func(string) (nodestatus.Snapshot, error)
		want int
	}{
		"Load": {r.Load, 0}, "LoadCompared": {r.LoadCompared, 0}, "LoadVerified": {r.LoadVerified, 2},
	} {
		if snap, err := c.load(""); err != nil || snap.Deferred != c.want {
			t.Errorf("%s: %d DELs wait, want %d (%v)", name, snap.Deferred, c.want, err)
		}
	}
}
