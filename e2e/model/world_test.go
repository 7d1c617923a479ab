package model

import (
	"errors"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"pgregory.net/rapid"
)

// meddle changes something by hand.
func (m *model) meddle(t *rapid.T, change func() error) {
	t.Helper()
	err := waitForTick()
	if err == nil {
		err = change()
	}
	if err != nil {
		t.Fatal(err)
	}
	m.clean, m.exposed = false, true
}

// removesFile removes one reservation by hand, which is believed.
func (m *model) removesFile(t *rapid.T) {
	if len(m.place.files) == 0 {
		t.Skip("no file")
	}
	all := slices.SortedFunc(maps.Keys(m.place.files), netip.Addr.Compare)
	addr := draw(t, "file", all, netip.Addr.String)
	m.meddle(t, func() error { return os.Remove(filepath.Join(m.directory(), addr.String())) })
}

// reboots: all namespaces are gone, and the disk is as it was, or not.
func (m *model) reboots(t *rapid.T) {
	what := rapid.SampledFrom([]string{"as it was", "as it was", "host-local's parent wiped", "no data directory", "an older data directory"}).Draw(t, "disk")
	switch what {
	case "host-local's parent wiped":
		if m.parent == m.dataDir {
			t.Skip("it is the data directory")
		}
		m.meddle(t, func() error { return os.RemoveAll(m.parent) })
	case "no data directory":
		m.meddle(t, func() error { return m.putBack(copied{}) })
		m.stored = state{held: holdings{}, cursors: map[int]netip.Addr{}}
		m.older = nil
	case "an older data directory":
		if len(m.older) == 0 {
			t.Skip("there is no copy")
		}
		i := rapid.IntRange(0, len(m.older)-1).Draw(t, "copy")
		m.meddle(t, func() error { return m.putBack(m.older[i]) })
		m.stored = m.older[i].stored.clone()
		m.older = m.older[:i+1] // what came after it never was
	}
	m.boot++
	m.clean = false
	clear(m.spaces)
}

// wipes takes host-local's directory, or what stands there, away.
func (m *model) wipes(t *rapid.T) {
	dir := m.directory()
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		t.Skip("nothing is there")
	}
	aside := filepath.Join(m.root, "aside")
	ways := map[string]func() error{
		"whole": func() error { return os.RemoveAll(dir) },
		"its contents": func() error {
			entries, err := os.ReadDir(dir)
			for _, e := range entries {
				err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
			}
			return err
		},
		"the lock": func() error {
			if err := os.Remove(filepath.Join(dir, "lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		},
		"by an empty one": func() error {
			return errors.Join(os.Rename(dir, aside), os.Mkdir(dir, 0o755), os.RemoveAll(aside))
		},
		"by a copy": func() error {
			return errors.Join(os.Rename(dir, aside), os.CopyFS(dir, os.DirFS(aside)), os.RemoveAll(aside))
		},
	}
	names := []string{"whole", "by an empty one"}
	if m.place.there {
		names = []string{"whole", "its contents", "the lock", "by an empty one", "by a copy"}
	}
	m.meddle(t, ways[rapid.SampledFrom(names).Draw(t, "wiped")])
}
