package faults

import (
	"errors"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// held maps container ids to the address that each holds.
type held map[string]netip.Addr

// add attaches a container, and notes its address.
func (h held) add(t *testing.T, p plugin, containerID string) {
	t.Helper()
	h.note(t, containerID, testenv.Address(t, p.run(t, "ADD", containerID)))
}

// note notes an address. One that another container holds fails the test.
func (h held) note(t *testing.T, containerID string, addr netip.Addr) {
	t.Helper()
	for other, a := range h {
		if a == addr && other != containerID {
			t.Errorf("%s is held by %s and by %s", addr, other, containerID)
		}
	}
	if a, ok := h[containerID]; ok && a != addr {
		t.Errorf("%s holds %s and %s", containerID, a, addr)
	}
	h[containerID] = addr
}

// without is h without some containers.
func (h held) without(ids ...string) held {
	rest := maps.Clone(h)
	maps.DeleteFunc(rest, func(id string, _ netip.Addr) bool { return slices.Contains(ids, id) })
	return rest
}

// expect checks what is found somewhere.
func (h held) expect(t *testing.T, where string, got held) {
	t.Helper()
	if !maps.Equal(got, h) {
		t.Errorf("%s has\n%v\nwant\n%v", where, got, h)
	}
}

// dump is who holds what in this boot, and the phase, as bolt-local says.
func (n network) dump(t *testing.T) (pods held, phase string) {
	t.Helper()
	d, err := lab.ReadDump(t.Context(), n.boltLocal, n.dataDir)
	if err != nil {
		t.Error(err)
	}
	pods = held{}
	for _, network := range d.Networks {
		if network.Name != n.name {
			t.Errorf("dump shows network %q", network.Name)
			continue
		}
		phase = network.Phase
		for _, a := range network.Allocations {
			if a.State == "active" {
				pods.note(t, a.ContainerID, a.IP)
			}
		}
	}
	return pods, phase
}

// files is what host-local's directory says, read as host-local does: by file
// name, and then id and ifname.
func (n network) files(t *testing.T) held {
	t.Helper()
	pods := held{}
	entries, err := os.ReadDir(n.dir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, e := range entries {
		addr, err := netip.ParseAddr(e.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(n.dir(), e.Name()))
		if err != nil {
			t.Error(err)
		}
		id, ifname, _ := strings.Cut(string(data), "\r\n")
		if ifname != "eth0" {
			t.Errorf("%s has %q", e.Name(), data)
		}
		pods.note(t, id, addr)
	}
	return pods
}

// isShut tells whether a tombstone stands in the place of the directory.
func (n network) isShut() bool {
	info, err := os.Lstat(n.dir())
	return err == nil && info.Mode().IsRegular()
}

// expectVerified lets bolt-local compare both forms.
func (n network) expectVerified(t *testing.T) {
	t.Helper()
	out, err := lab.Tool(t.Context(), n.boltLocal, migrate("verify")(n)...)
	if err != nil {
		t.Errorf("migrate verify: %v: %s", err, out)
	}
}
