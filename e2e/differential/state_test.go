package differential

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// files maps the names of host-local's files to their contents.
type files map[string]string

// read reads host-local's directory.
func (p *peer) read(t *testing.T) files {
	t.Helper()
	dir := filepath.Join(p.dir, networkName)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	out := files{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}

// restore puts host-local's directory back to what it was.
func (p *peer) restore(t *testing.T, before files) {
	t.Helper()
	dir := filepath.Join(p.dir, networkName)
	for name := range p.read(t) {
		if _, ok := before[name]; !ok {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, content := range before {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// holdings maps addresses to their attachments, "container id/ifname".
type holdings map[string]string

// holdings of host-local are its files, but for lock and cursors.
func (f files) holdings() holdings {
	out := holdings{}
	for name, content := range f {
		if name != "lock" && !strings.HasPrefix(name, "last_reserved_ip.") {
			out[name] = strings.ReplaceAll(content, "\r\n", "/")
		}
	}
	return out
}

// dumped are the holdings that bolt-local shows.
func (p *peer) dumped(t *testing.T) holdings {
	t.Helper()
	out := holdings{}
	for _, a := range testenv.Dump(t, p.dir).Allocations(networkName) {
		out[a.IP.String()] = a.ContainerID + "/" + a.IfName
	}
	return out
}

// sameState says how the states of both differ, nil if they do not.
func sameState(t *testing.T, hostLocal, boltLocal *peer) error {
	t.Helper()
	hl, bl := hostLocal.read(t).holdings(), boltLocal.dumped(t)
	if !maps.Equal(hl, bl) {
		return fmt.Errorf("host-local holds %v, bolt-local %v", hl, bl)
	}
	return nil
}
