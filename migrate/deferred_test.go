package migrate

import (
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// waits leaves a DEL that could not be written.
func (n *ailing) waits(network, id, ifname string) {
	n.t.Helper()
	d := ipam.Deletion{Attachment: record.Attachment{ContainerID: id, IfName: ifname}, Gone: true}
	if err := n.state(nil).Defer(network, d); err != nil {
		n.t.Fatal(err)
	}
}

func TestADelThatWaitsIsCarriedOutByTheNextCall(t *testing.T) {
	for _, phase := range []engine.Phase{engine.Legacy, engine.Expand, engine.Switch} {
		for name, call := range map[string]func(n *ailing) error{
			"ADD": func(n *ailing) error { return second(n.add("podnet", string(phase), "b")) },
			"DEL": func(n *ailing) error { return n.plugin().Del(n.call("podnet", string(phase), "nobody")) },
		} {
			t.Run(name+" in "+string(phase), func(t *testing.T) {
				n, held := twoNetworks(t, phase)
				n.ended("a")
				n.waits("podnet", "a", "eth0")
				n.waits("podnet", "old", "eth0") // whom host-local gave its address
				n.waits("othernet", "x", "eth0")
				maps.DeleteFunc(held, func(_ netip.Addr, id string) bool { return id != "b" })
				if err := call(n); err != nil {
					t.Fatal(err)
				}
				if got, _ := n.held("podnet"); !maps.Equal(got, held) {
					t.Errorf("podnet has %v, want %v", got, held)
				}
				if got, _ := n.held("othernet"); len(got) != 2 || n.state(nil).Store.CountDeferred() != 1 {
					t.Errorf("othernet has %v", got)
				}
			})
		}
	}
}

func TestADelThatWaitsIsNotThatOfALaterAdd(t *testing.T) {
	n, held := twoNetworks(t, engine.Switch)
	n.waits("podnet", "a", "eth0")
	n.mustAdd("podnet", "switch", "a") // the DEL comes first, and then a gets an address
	got, _ := n.held("podnet")
	again := 0
	for _, id := range got {
		if id == "a" {
			again++
		}
	}
	if again != 1 || len(got) != len(held) {
		t.Errorf("podnet has %v", got)
	}
	if err := n.plugin().Del(n.call("podnet", "switch", "nobody")); err != nil {
		t.Fatal(err)
	}
	if after, _ := n.held("podnet"); !maps.Equal(got, after) {
		t.Errorf("podnet has %v, and had %v", after, got)
	}
}

// host-local may have given the same attachment an address since.
// Nor where the ADD finds its network lost, and makes it anew.
func TestADelThatWaitedInALostNetworkIsNotThatOfALaterAdd(t *testing.T) {
	n, _ := twoNetworks(t, engine.Switch)
	n.hostLocalAdds("third", "10.9.0.2", "gone")
	n.mustAdd("third", "switch", "p")
	n.mustDel("third", "switch", "gone")
	n.mustDel("third", "switch", "p")
	n.damaged(true)
	n.waits("third", "p", "eth0")
	n.mustAdd("podnet", "switch", "c") // heals podnet alone
	addr := n.mustAdd("third", "switch", "p")
	n.mustDel("third", "switch", "nobody")
	n.expectHeld("third", map[string]string{addr.String(): "p"})
}

func TestADelThatWaitsIsVoidByAFileThatCameLater(t *testing.T) {
	n, held := twoNetworks(t, engine.Switch)
	n.waits("podnet", "old", "eth0")
	n.tick()
	n.hostLocalAdds("podnet", "10.6.0.2", "old") // the same file, another change time
	n.mustAdd("podnet", "switch", "b")
	if got, _ := n.held("podnet"); !maps.Equal(got, held) {
		t.Errorf("podnet has %v, want %v", got, held)
	}
	if n.state(nil).Store.CountDeferred() != 0 {
		t.Error("it waits on")
	}
}

// What the call itself writes into a directory that was wiped is nobody's who came
// later.
func TestADelThatWaitsIsCarriedOutInADirectoryThatIsMadeAnew(t *testing.T) {
	n, held := twoNetworks(t, engine.Switch)
	n.ended("a")
	n.waits("podnet", "a", "eth0")
	n.tick()
	if err := os.RemoveAll(n.file("podnet")); err != nil {
		t.Fatal(err)
	}
	n.mustAdd("podnet", "switch", "b") // writes the file of a, too, before the DEL is carried out
	maps.DeleteFunc(held, func(_ netip.Addr, id string) bool { return id == "a" })
	if got, _ := n.held("podnet"); !maps.Equal(got, held) || n.state(nil).Store.CountDeferred() != 0 {
		t.Errorf("podnet has %v, want %v; %d wait", got, held, n.state(nil).Store.CountDeferred())
	}
}

// tick waits until a file that changes has another change time than all before:
// the kernel's clock for them goes in steps of some milliseconds.
func (n *ailing) tick() {
	n.t.Helper()
	path := filepath.Join(n.t.TempDir(), "tick")
	changed := func() int64 {
		var st unix.Stat_t
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			n.t.Fatal(err)
		}
		if err := unix.Stat(path, &st); err != nil {
			n.t.Fatal(err)
		}
		return st.Ctim.Nano()
	}
	for before := changed(); changed() == before; {
	}
}

// DEL, GC and all else that may come before repair must not forget a DEL whose
// allocation is still to be found.
func TestADelWaitsUntilItsNetworkIsFound(t *testing.T) {
	n, _ := twoNetworks(t, engine.Switch)
	others, _ := n.held("othernet")
	n.damaged(true)
	n.mustAdd("podnet", "switch", "c") // podnet is healed, othernet lost
	if err := n.plugin().Del(n.call("othernet", "", "x")); err != nil {
		t.Fatal(err)
	}
	n.ended("x")
	for name, call := range map[string]func() error{
		"DEL of another": func() error { return n.plugin().Del(n.call("othernet", "", "nobody")) },
		"release": func() error {
			return n.state(nil).Update(ipam.VerbRelease, "othernet", func(tx ipam.Tx) error { return nil })
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	n.repaired(store.Repair{})
	n.repaired(store.Repair{Accept: true})
	n.mustAdd("othernet", "", "new")
	maps.DeleteFunc(others, func(_ netip.Addr, id string) bool { return id == "x" })
	got, _ := n.held("othernet")
	maps.DeleteFunc(got, func(_ netip.Addr, id string) bool { return id == "new" })
	if !maps.Equal(got, others) || n.state(nil).Store.CountDeferred() != 0 {
		t.Errorf("othernet has %v, want %v; %d wait", got, others, n.state(nil).Store.CountDeferred())
	}
}

func TestADelWaitsForAVersionThatMayWrite(t *testing.T) {
	g := goldenOf(t, "contract").open(t)
	g.newer(2)
	if err := g.del("web-1", "eth0"); err != nil {
		t.Fatal(err)
	}
	if got := g.store().CountDeferred(); got != 1 {
		t.Errorf("%d wait", got)
	}
	if _, err := os.Stat("data/" + store.DeferredDir); err != nil {
		t.Error(err)
	}
}

// A backup is older than the DEL, and a later repair may read it.
func TestADelInANetworkThatHasLostAllocationsWaitsAlthoughItFrees(t *testing.T) {
	n := newAiling(t)
	a, b := n.mustAdd("podnet", "", "a"), n.mustAdd("podnet", "", "b")
	backup := filepath.Join(t.TempDir(), "backup")
	file, err := os.ReadFile(n.file(store.CheckpointFile))
	if err == nil {
		err = os.WriteFile(backup, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	n.lostAll()
	n.repaired(store.Repair{Backup: backup})
	n.ended("a")
	call := n.call("podnet", "", "a")
	n.ended("a")
	if err := n.plugin().Del(call); err != nil {
		t.Fatal(err)
	}
	n.expectHeld("podnet", map[string]string{b.String(): "b"})
	if waiting := n.state(nil).Store.CountDeferred(); waiting != 1 {
		t.Fatalf("%d DELs wait", waiting)
	}
	n.repaired(store.Repair{Backup: backup, Accept: true})
	c := n.mustAdd("podnet", "", "c")
	n.expectHeld("podnet", map[string]string{b.String(): "b", c.String(): "c"})
	if waiting := n.state(nil).Store.CountDeferred(); waiting != 0 {
		t.Errorf("%d DELs wait at the end; a had %s", waiting, a)
	}
}
