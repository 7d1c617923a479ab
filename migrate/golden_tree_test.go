package migrate

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/store"
)

// Golden state is kept as it was on disk, but for what cannot be: git keeps no
// empty directory (deferred) and no modes, no Go module may have a ':' in the
// name of a file, which is written as %3A, and most of a checkpoint is room.
const (
	goldenColon  = "%3A"
	goldenPacked = ".gz"
)

// goldenDirs are the directories of a case, with their modes.
var goldenDirs = []struct {
	name string
	mode os.FileMode
}{
	{"data", 0o700},
	{"data/" + store.DeferredDir, 0o700},
	{"networks", 0o755},
}

// goldenMode is that of a file.
func goldenMode(path string) os.FileMode {
	switch dir, name := filepath.Split(path); {
	case dir == "networks/":
		return 0o644 // a tombstone
	case dir != "data/" && name == "lock":
		return 0o750
	}
	return 0o600
}

// copyGolden copies a case into a directory of its own.
func copyGolden(t *testing.T, from string) (to string) {
	t.Helper()
	to = t.TempDir()
	for _, d := range goldenDirs {
		makeGoldenDir(t, filepath.Join(to, d.name), d.mode)
	}
	for path, content := range readTree(t, from) {
		path = strings.ReplaceAll(path, goldenColon, ":")
		if name, packed := strings.CutSuffix(path, goldenPacked); packed {
			path, content = name, unpack(t, content)
		}
		dir := filepath.Dir(path)
		if dir == "." {
			continue // expected.json
		}
		if dir != "data" && dir != "networks" {
			makeGoldenDir(t, filepath.Join(to, dir), 0o755)
		}
		writeGoldenFile(t, filepath.Join(to, path), content, goldenMode(path))
	}
	return to
}

// keepGolden copies the files of a case to where git keeps them.
func keepGolden(t *testing.T, from, to string) {
	t.Helper()
	for path, content := range readTree(t, from) {
		path = filepath.Join(to, strings.ReplaceAll(path, ":", goldenColon))
		if filepath.Base(path) == store.CheckpointFile {
			path, content = path+goldenPacked, pack(t, content)
		}
		makeGoldenDir(t, filepath.Dir(path), 0o755)
		writeGoldenFile(t, path, content, 0o644)
	}
}

func pack(t *testing.T, content string) string {
	t.Helper()
	var b strings.Builder
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func unpack(t *testing.T, packed string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func makeGoldenDir(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(dir, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
}

func writeGoldenFile(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

// readTree maps the path of each regular file under dir to its content.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	walkTree(t, dir, func(path string, e fs.DirEntry) error {
		if !e.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(b)
		return err
	})
	return files
}

// treeHash is of all names, modes and bytes under dir, but for what is in one of
// the directories left out.
func treeHash(t *testing.T, dir string, out ...string) string {
	t.Helper()
	lines := map[string]string{}
	walkTree(t, dir, func(path string, e fs.DirEntry) error {
		info, err := e.Info()
		if err != nil {
			return err
		}
		lines[path] = info.Mode().String()
		return nil
	})
	for path, content := range readTree(t, dir) {
		lines[path] += fmt.Sprintf(" %x", sha256.Sum256([]byte(content)))
	}
	maps.DeleteFunc(lines, func(path, _ string) bool { return slices.Contains(out, filepath.Dir(path)) })
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(h, "%q %s\n", path, lines[path])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func walkTree(t *testing.T, dir string, fn func(path string, e fs.DirEntry) error) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return fn(rel, e)
	})
	if err != nil {
		t.Fatal(err)
	}
}
