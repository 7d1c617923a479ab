package model

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

// goesBack: an older checkpoint in the place of the newer one is noticed, for
// the lock tells what was committed since.
func (m *model) goesBack(t *rapid.T) {
	if len(m.older) == 0 {
		t.Skip("there is no copy")
	}
	older, now := m.older[rapid.IntRange(0, len(m.older)-1).Draw(t, "copy")], m.copy(t)
	if now.files[store.LockFile] == older.files[store.LockFile] || m.stored.boot != m.boot {
		t.Skip("nothing was told since")
	}
	if now.files[store.CheckpointFile] == older.files[store.CheckpointFile] {
		t.Skip("what was told was committed before the copy")
	}
	path := filepath.Join(m.dataDir, store.CheckpointFile)
	if err := os.WriteFile(path, []byte(older.files[store.CheckpointFile]), 0o600); err != nil {
		t.Fatal(err)
	}
	m.clean = false
	m.readersRefuse(t, "an older checkpoint", ipam.CodeDamaged) // a call that writes would heal it
	if err := os.WriteFile(path, []byte(now.files[store.CheckpointFile]), 0o600); err != nil {
		t.Fatal(err)
	}
}

// refuses: every verb that writes, but for DEL, fails, and changes nothing.
func (m *model) refuses(t *rapid.T, what string, code uint) {
	t.Helper()
	att := anAttachment(t)
	c := conf{target: m.target}
	m.unchanged(t, what, func() {
		_, err := m.add(att, c)
		if codeOf(err) != code {
			t.Fatalf("%s: ADD: %v, want code %d", what, err, code)
		}
		if err := m.gcVerb(nil).call(); codeOf(err) != code {
			t.Fatalf("%s: GC: %v, want code %d", what, err, code)
		}
		if err := m.byHand(-1, false).call(); codeOf(err) != code {
			t.Fatalf("%s: rollback: %v, want code %d", what, err, code)
		}
	})
}

// readersRefuse: the verbs that only read fail, and change nothing.
func (m *model) readersRefuse(t *rapid.T, what string, code uint) {
	t.Helper()
	call := m.node.call(anAttachment(t), conf{target: m.target})
	m.unchanged(t, what, func() {
		if err := m.plugin().Check(call); codeOf(err) != code {
			t.Fatalf("%s: CHECK: %v, want code %d", what, err, code)
		}
		if err := m.plugin().Status(call); codeOf(err) != ipam.CodeUnavailable {
			t.Fatalf("%s: STATUS: %v", what, err)
		}
	})
}

// newerSchema: a checkpoint that only newer versions may write is left alone.
func (m *model) newerSchema(t *rapid.T) {
	if !m.store().Exists() {
		t.Skip("no checkpoint")
	}
	now := m.copy(t)
	path := filepath.Join(m.dataDir, store.CheckpointFile)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte("meta"))
		var format map[string]any
		if err := json.Unmarshal(meta.Get([]byte("format")), &format); err != nil {
			return err
		}
		format["schema"], format["oldestWriter"], format["writer"] = 2, 2, "9"
		b, err := json.Marshal(format)
		if err != nil {
			return err
		}
		return meta.Put([]byte("format"), b)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	m.clean = false
	m.refuses(t, "a newer schema", ipam.CodeForeignFormat)
	m.readersRefuse(t, "a newer schema", ipam.CodeForeignFormat)
	if err := os.WriteFile(path, []byte(now.files[store.CheckpointFile]), 0o600); err != nil {
		t.Fatal(err)
	}
}

// anotherPlace: an ADD whose configuration has host-local's directory elsewhere
// is refused.
func (m *model) anotherPlace(t *rapid.T) {
	if !m.stored.known || m.stored.boot != m.boot || m.unnumbered() {
		t.Skip("the network is not known, or upkeep is due")
	}
	att := anAttachment(t)
	m.unchanged(t, "an ADD with another hostLocalDir", func() {
		_, err := m.add(att, conf{target: m.target, parent: filepath.Join(m.root, "elsewhere")})
		if codeOf(err) != ipam.CodeConfig || !errors.Is(err, engine.ErrPlace) {
			t.Fatalf("an ADD with another hostLocalDir: %v", err)
		}
	})
}

// unnumbered tells whether something waits for its epoch.
func (m *model) unnumbered() bool {
	for _, a := range m.stored.held {
		if a.epoch == 0 {
			return true
		}
	}
	return false
}
