package model

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"pgregory.net/rapid"
)

// unchanged runs fn, which must leave every byte of the disk as it was.
func (m *model) unchanged(t *rapid.T, what string, fn func()) {
	t.Helper()
	before, err := tree(m.root)
	if err != nil {
		t.Fatal(err)
	}
	fn()
	after, err := tree(m.root)
	if err != nil {
		t.Fatal(err)
	}
	if changed := changedPaths(before, after); len(changed) > 0 {
		t.Fatalf("%s has changed %q", what, changed)
	}
}

// tree maps each path under root to its mode, size and bytes.
func tree(root string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		all[path] = info.Mode().String()
		if e.IsDir() {
			return nil
		}
		b, err := os.ReadFile(path)
		all[path] += " " + string(b)
		return err
	})
	return all, err
}

// changedPaths are those in which two trees differ.
func changedPaths(before, after map[string]string) []string {
	var changed []string
	for path := range maps.Keys(before) {
		if text, there := after[path]; !there || text != before[path] {
			changed = append(changed, path)
		}
	}
	for path := range maps.Keys(after) {
		if _, there := before[path]; !there {
			changed = append(changed, path)
		}
	}
	return changed
}
