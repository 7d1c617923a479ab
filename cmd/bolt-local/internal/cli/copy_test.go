package cli

import (
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store"
)

func TestADamagedRecordIsToldOnceAndTheOthersAreShown(t *testing.T) {
	dir, checkpoint := storeWith(t)
	holdMore(t, dir, "10.1.0.3", "10.1.0.4", "10.1.0.5")
	spoil(t, checkpoint, "10.1.0.3", "10.1.0.4")
	status, stdout, stderr := run("dump", "--data-dir", dir, "--output", "json")
	for _, addr := range []string{"10.1.0.2", "10.1.0.5"} {
		if !strings.Contains(stdout, `"ip":"`+addr+`"`) {
			t.Errorf("%s is not shown: %s", addr, stdout)
		}
	}
	if status != exitFailed || strings.Count(stderr, "10.1.0.3 has checksum") != 1 || !strings.Contains(stderr, "and 1 other record of this network") {
		t.Errorf("exit status %d, stderr: %s", status, stderr)
	}
}

func TestAPhaseOfANewerVersionIsShownAndTold(t *testing.T) {
	dir, _ := storeWith(t)
	err := store.New(dir, store.Options{}).Update(store.Op{Verb: "ADD"}, func(tx *store.Tx) error {
		return tx.Network("podnet").SetMigration([]byte(`{"phase":"frozen","oldPath":"/n/podnet"}`))
	})
	if err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := run("dump", "--data-dir", dir, "--output", "json")
	if !strings.Contains(stdout, `"name":"podnet","phase":"frozen","allocations":[{"ip":"10.1.0.2"`) {
		t.Errorf("got %s", stdout)
	}
	if status != exitFailed || !strings.Contains(stderr, `network podnet: the migration is in a state that this version does not know: "frozen"`) {
		t.Errorf("exit status %d, stderr: %s", status, stderr)
	}
	status, stdout, _ = run("migrate", "verify", "--data-dir", dir)
	if status != exitFailed || stdout != "" {
		t.Errorf("verify: exit status %d, stdout: %s", status, stdout)
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
			key := held(addr, 0).Addr.As16()
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

func holdMore(t *testing.T, dir string, addrs ...string) {
	t.Helper()
	err := store.New(dir, store.Options{}).Update(store.Op{Verb: "ADD", Creates: true}, func(tx *store.Tx) error {
		for _, addr := range addrs {
			if err := tx.Network("podnet").Put(held(addr, tx.Epoch(), by("of-"+addr, "eth0", 0))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
