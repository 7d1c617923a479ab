package migration

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

// add attaches a container with p, and notes its address. One that another
// container has been answered fails the test.
func (h held) add(t *testing.T, p plugin, containerID string) {
	t.Helper()
	h.note(t, containerID, p.add(t, containerID))
}

func (h held) note(t *testing.T, containerID string, addr netip.Addr) {
	t.Helper()
	if other, taken := h.holder(addr); taken && other != containerID {
		t.Errorf("%s was given to %s and to %s", addr, other, containerID)
	}
	h[containerID] = addr
}

// holder is the container that holds an address.
func (h held) holder(addr netip.Addr) (containerID string, taken bool) {
	for id, a := range h {
		if a == addr {
			return id, true
		}
	}
	return "", false
}

// del detaches a container with p.
func (h held) del(t *testing.T, p plugin, containerID string) {
	t.Helper()
	p.del(t, containerID)
	delete(h, containerID)
}

// ids are the containers, sorted.
func (h held) ids() []string { return slices.Sorted(maps.Keys(h)) }

// stored is what bolt-local says of the network in this boot, the zero value for
// one that it does not know.
func (n network) stored(t *testing.T) lab.Network {
	t.Helper()
	for _, d := range testenv.Dump(t, n.dataDir).Networks {
		if d.Name == n.name {
			d.Allocations = slices.DeleteFunc(d.Allocations, func(a lab.Allocation) bool { return a.State != "active" })
			return d
		}
	}
	return lab.Network{}
}

// dump is who holds what, and the phase, as bolt-local says. That an address or a
// container comes twice fails the test.
func (n network) dump(t *testing.T) (pods held, phase string) {
	t.Helper()
	d := n.stored(t)
	pods = held{}
	for _, a := range d.Allocations {
		if other, ok := pods[a.ContainerID]; ok {
			t.Errorf("dump: %s holds %s and %s", a.ContainerID, other, a.IP)
		}
		pods.note(t, a.ContainerID, a.IP)
	}
	return pods, d.Phase
}

// files is what host-local's directory says, read as host-local does: by file
// name, and then id and ifname.
func (n network) files(t *testing.T) held {
	t.Helper()
	h := held{}
	for name, content := range n.reservations(t) {
		id, _, _ := strings.Cut(content, "\r\n")
		if other, ok := h[id]; ok {
			t.Errorf("%s: %s holds %s and %s", n.dir(), id, other, name)
		}
		h[id] = netip.MustParseAddr(name)
	}
	return h
}

// reservations are the files that are named after addresses.
func (n network) reservations(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(n.dir())
	if errors.Is(err, fs.ErrNotExist) {
		return all
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := netip.ParseAddr(e.Name()); err != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(n.dir(), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

// expectDump checks what bolt-local says is held.
func (n network) expectDump(t *testing.T, want held) {
	t.Helper()
	got, _ := n.dump(t)
	want.expect(t, "dump", got)
}

// expectBoth checks that both forms hold the same, and that it is this.
func (n network) expectBoth(t *testing.T, want held) {
	t.Helper()
	n.expectDump(t, want)
	want.expect(t, "host-local's directory", n.files(t))
}

// expectInSwitch checks both forms and the phase.
func (n network) expectInSwitch(t *testing.T, want held) {
	t.Helper()
	n.expectIn(t, switched, want)
}

// expectIn checks the phase, and what each form holds that counts in it.
func (n network) expectIn(t *testing.T, wantPhase string, want held) {
	t.Helper()
	got, phase := n.dump(t)
	want.expect(t, "dump", got)
	if phase != wantPhase {
		t.Errorf("dump shows phase %q, want %q", phase, wantPhase)
	}
	if wantPhase != contract {
		want.expect(t, "host-local's directory", n.files(t))
	} else if !n.isShut() {
		t.Errorf("%s is not a tombstone", n.dir())
	}
}

func (h held) expect(t *testing.T, where string, got held) {
	t.Helper()
	if !maps.Equal(got, h) {
		t.Errorf("%s has\n%v\nwant\n%v", where, got, h)
	}
}

// expectPhase checks the phase that dump shows.
func (n network) expectPhase(t *testing.T, want string) {
	t.Helper()
	if got := n.stored(t).Phase; got != want {
		t.Errorf("dump shows phase %q, want %q", got, want)
	}
}

// isShut tells whether a tombstone stands in the place of the directory.
func (n network) isShut() bool {
	info, err := os.Lstat(n.dir())
	return err == nil && info.Mode().IsRegular()
}

// expectShut checks that the real host-local fails loudly on a tombstone.
func (n network) expectShut(t *testing.T, containerID string) {
	t.Helper()
	if !n.isShut() {
		t.Errorf("%s is not a tombstone", n.dir())
		return
	}
	for _, verb := range []string{"ADD", "DEL", "CHECK"} {
		n.theirs().fails(t, verb, containerID)
	}
}
