package store

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/record"
)

func TestABackupThatIsNotOneIsRefused(t *testing.T) {
	format := func(doc string) func(*testing.T) []byte {
		return func(t *testing.T) []byte {
			n := sixHeld(t)
			n.byAnother(func(tx *bolt.Tx) error { // as an heir of ours
				meta := tx.Bucket([]byte(bucketMeta))
				return errors.Join(meta.Put([]byte(keyFormat), []byte(doc)), meta.Bucket([]byte(bucketStamp)).Put([]byte(keyStampSchema1), uint64Bytes(uint64(tx.ID()))))
			})
			return n.read(CheckpointFile)
		}
	}
	const newer = `{"schema":3,"oldestWriter":2,"writer":"2.0.0","created":"2030-01-01T00:00:00Z","id":"x"}`
	for name, c := range map[string]struct {
		backup func(*testing.T) []byte
		want   error
		says   string
	}{
		"empty":             {func(*testing.T) []byte { return nil }, ErrBackup, "empty"},
		"text":              {func(*testing.T) []byte { return []byte(strings.Repeat("{}\n", 4000)) }, ErrBackup, "not a bbolt file"},
		"of a newer schema": {format(newer), ErrFormat, "install version 2.0.0"},
		"of no format":      {format(`{}`), ErrFormat, "not complete"},
		"cut":               {func(t *testing.T) []byte { b := sixHeld(t).backup(); return b[:len(b)-4096] }, ErrBackup, "cut off"},
		"with a spoilt record": {func(t *testing.T) []byte {
			b := sixHeld(t).backup()
			i := strings.LastIndex(string(b), `"containerID":"c3"`)
			b[i+16] ^= 1
			return b
		}, ErrBackup, "checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			n := sixHeld(t)
			n.write("backup", c.backup(t))
			before := n.files()
			_, err := n.restored(Repair{})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), n.file("backup")) || !strings.Contains(err.Error(), c.says) || errors.Is(err, ErrDamaged) {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(before, n.files()); diff != "" {
				t.Errorf("files:\n%s", diff)
			}
		})
	}
	t.Run("gone", func(t *testing.T) {
		n := sixHeld(t)
		if _, err := n.restored(Repair{}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	})
}

func TestABackupIsACheckpoint(t *testing.T) {
	n := sixHeld(t)
	other := newNode(t)
	if err := os.Mkdir(other.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	other.write(CheckpointFile, n.backup())
	if got := other.held(); !maps.Equal(got, six(6)) {
		t.Errorf("held %v", got)
	}
	for i := range 5 { // each commit replaces another of its meta pages
		other.add(addrAt(i), "new")
		other.held()
	}
}

func TestADamagedCheckpointIsNotBackedUp(t *testing.T) {
	n := sixHeld(t)
	n.zero(1)
	if err := n.Backup(io.Discard); !errors.Is(err, ErrDamaged) {
		t.Errorf("error %v", err)
	}
	if err := newNode(t).Backup(io.Discard); !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("error %v", err)
	}
}

// Whatever a backup holds, it is refused or restored, and the checkpoint is sound
// afterwards.
func FuzzBackup(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("text"))
	f.Add(smallBackup(f, 0))
	f.Add(smallBackup(f, 3))
	n := fuzzNode(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		n.t = t
		n.write("backup", b)
		report, err := n.restored(Repair{})
		if err != nil && !errors.Is(err, ErrBackup) {
			t.Fatalf("error %v", err)
		}
		if err != nil {
			return
		}
		if got := n.held(); got["10.0.0.100"] != "a" {
			t.Fatalf("held %v", got)
		}
		if report.Kept == "" {
			return
		}
		if err := os.RemoveAll(n.dir); err != nil {
			t.Fatal(err)
		}
		n.add("10.0.0.100", "a")
	})
}

// smallBackup is one with pages of 512 bytes.
func smallBackup(f *testing.F, count int) []byte {
	f.Helper()
	path := filepath.Join(f.TempDir(), "small")
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: 512, FreelistType: bolt.FreelistArrayType})
	if err != nil {
		f.Fatal(err)
	}
	c := newContent()
	for i := range count {
		a := record.Allocation{Addr: ip(addrAt(i)), Holders: holdersOf([]string{"c/eth0+"})}
		if err := c.putAllocation("podnet", a, ""); err != nil {
			f.Fatal(err)
		}
	}
	s := New(f.TempDir(), Options{})
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := s.initialize(tx, c)
		return err
	})
	b, readErr := os.ReadFile(path)
	if err := errors.Join(err, readErr, db.Close()); err != nil {
		f.Fatal(err)
	}
	return b
}
