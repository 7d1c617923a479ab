package damage

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// restore makes the node's files as they were before a trial. It reports false
// where it cannot: a file of host-local's directory that was removed comes back
// as another one.
func (m *image) restore() (bool, error) {
	for _, name := range parts {
		if err := os.WriteFile(m.file(name), m.files[name], 0o600); err != nil {
			return false, err
		}
	}
	entries, err := os.ReadDir(m.dataDir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if name := e.Name(); e.Type().IsRegular() && !slices.Contains(parts, name) {
			if err := os.Remove(m.file(name)); err != nil {
				return false, err
			}
		}
	}
	deferred, err := filepath.Glob(m.file("deferred/*"))
	if err != nil {
		return false, err
	}
	for _, path := range deferred {
		if err := os.Remove(path); err != nil {
			return false, err
		}
	}
	for name, mark := range marks(m.file(open)) {
		switch was, known := m.marks[name]; {
		case !known:
			if err := os.Remove(filepath.Join(m.file(open), name)); err != nil {
				return false, err
			}
		case was != mark && !strings.HasPrefix(name, "last_reserved_ip"):
			return false, nil
		}
	}
	if err := os.WriteFile(filepath.Join(m.file(open), "last_reserved_ip.0"), m.last, 0o644); err != nil {
		return false, err
	}
	now := marks(m.file(open))
	for name := range m.marks {
		if _, there := now[name]; !there {
			return false, nil
		}
	}
	tombstone, err := os.ReadFile(m.file(shut))
	return err == nil && string(tombstone) == string(m.tombstone), nil
}

// marks tell a file from another of the same name and content.
func marks(dir string) map[string]string {
	found := map[string]string{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		var st unix.Stat_t
		if unix.Lstat(filepath.Join(dir, e.Name()), &st) == nil {
			found[e.Name()] = fmt.Sprint(st.Ino, " ", st.Ctim.Nano())
		}
	}
	return found
}

// digest is of the files in the data directory, and of the names in the
// directories there.
func (m *image) digest() (sum [32]byte) {
	h := sha256.New()
	entries, err := os.ReadDir(m.dataDir)
	for _, e := range entries {
		path := m.file(e.Name())
		var content []byte
		if e.IsDir() {
			var names []string
			names, err = namesIn(path)
			content = []byte(strings.Join(names, " "))
		} else if content, err = os.ReadFile(path); err != nil {
			break
		}
		fmt.Fprintf(h, "%s %d\n", path, len(content))
		h.Write(content)
	}
	if err != nil {
		fmt.Fprint(h, err)
	}
	h.Sum(sum[:0])
	return sum
}

func namesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}
