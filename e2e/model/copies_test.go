package model

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pgregory.net/rapid"

	"github.com/bolt-local/bolt-local/store"
)

// copied is a copy of the data directory.
type copied struct {
	files  map[string]string
	stored state
}

// files of the data directory, beside which host-local's directory may be.
var dataFiles = []string{store.CheckpointFile, store.LockFile, store.JournalFile, store.UndoFile}

// copies keeps a copy for later.
func (m *model) copies(t *rapid.T) {
	if !m.store().Exists() {
		t.Skip("no checkpoint")
	}
	m.older = append(m.older, m.copy(t))
}

func (m *model) copy(t *rapid.T) copied {
	t.Helper()
	c := copied{files: map[string]string{}, stored: m.stored.clone()}
	for _, name := range dataFiles {
		b, err := os.ReadFile(filepath.Join(m.dataDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		c.files[name] = string(b)
	}
	return c
}

func (m *model) putBack(c copied) error {
	for _, name := range dataFiles {
		path := filepath.Join(m.dataDir, name)
		if text, ok := c.files[name]; !ok {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		} else if err := errors.Join(os.MkdirAll(m.dataDir, 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	return nil
}
