package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/backfill"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

// After a reboot there would be files on the disk, and no checkpoint that knows
// of them.
func TestACheckpointOnTmpfsDoesNotWriteADirectoryOnADisk(t *testing.T) {
	memory, err := os.MkdirTemp("/dev/shm", "bolt-local-")
	if err != nil || !isVolatile(memory) || isVolatile(t.TempDir()) {
		t.Skipf("it takes a tmpfs, and a disk beside: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(memory) })
	for target, refused := range map[engine.Phase]bool{
		engine.Legacy: true, engine.Expand: true, engine.Switch: true, engine.Contract: false, "": false,
	} {
		t.Run(string(target), func(t *testing.T) {
			n := newAiling(t)
			n.dir = filepath.Join(memory, "of-"+string(target))
			disk := t.TempDir()
			conf := n.config("podnet", "10.6.0.0/24", string(target))
			conf.LegacyParent, conf.Migration.HostLocalDir = disk, disk
			p := n.plugin()
			p.Open = func(*ipam.Config) ipam.State { return n.state(conf) }
			_, err := p.Add(n.call("podnet", string(target), "a"))
			if ipam.CodeOf(err) == ipam.CodeConfig != refused || err != nil != refused {
				t.Errorf("ADD: %v", err)
			}
			if unix.Access(n.dir, unix.F_OK) == nil && refused {
				t.Error("a data directory was made")
			}
			if refused {
				return
			}
			if _, err := n.state(nil).Rollback("podnet", true); !errors.Is(err, engine.ErrStep) || !strings.Contains(err.Error(), "tmpfs") {
				t.Errorf("the step back: %v", err)
			}
		})
	}
}

// ipam.dataDir alone was changed: at the place that both configurations would use,
// the tombstone tells of the checkpoint that has the network.
func TestATombstoneElsewhereTellsOfTheCheckpointThatHasTheNetwork(t *testing.T) {
	n := newAiling(t)
	n.mustAdd("podnet", "", "a")
	if err := os.MkdirAll(n.file("directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	own, other := n.state(nil), newAiling(t)
	other.boot = n.boot
	other.mustAdd("othernet", "", "b") // it has a checkpoint
	for name, c := range map[string]struct {
		state State
		path  string
		want  bool
	}{
		"another's":       {other.state(nil), n.file("podnet"), true},
		"its own":         {own, n.file("podnet"), false},
		"nothing":         {other.state(nil), n.file("nothing"), false},
		"a directory":     {other.state(nil), n.file("directory"), false},
		"somebody's file": {other.state(nil), n.file("lock"), false},
	} {
		err := c.state.shutElsewhere("podnet", c.path)
		if (ipam.CodeOf(err) == ipam.CodeConfig) != c.want || (err == nil) == c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	other.boot = "boot-000002" // in which the tombstone tells nothing
	if err := other.state(nil).shutElsewhere("podnet", n.file("podnet")); err != nil {
		t.Errorf("of the boot before: %v", err)
	}
}

// CRI-O sends the DEL of a pod of the boot before with the configuration of its ADD.
func TestADelOfThePreviousBootDoesNotClaimANetworkThatHasMoved(t *testing.T) {
	n := newAiling(t)
	n.mustAdd("podnet", "", "a")
	n.boot = "boot-000002"
	n.ended("a")
	moved := *n
	moved.dir = filepath.Join(filepath.Dir(n.dir), "new")
	if err := n.plugin().Del(n.call("podnet", "", "a")); err != nil {
		t.Fatal(err)
	}
	add := func(id string) error {
		call := moved.call("podnet", "", id)
		call.Stdin = bytes.Replace(call.Stdin, []byte(`"migration":{`), fmt.Appendf(nil, `"migration":{"hostLocalDir":%q,`, n.dir), 1)
		_, err := moved.plugin().Add(call)
		return err
	}
	if err := add("b"); err != nil {
		t.Errorf("the first ADD with the new configuration: %v", err)
	}
	if err := n.plugin().Del(n.call("podnet", "", "a")); err != nil {
		t.Errorf("the DEL once more: %v", err)
	}
	if err := add("c"); err != nil {
		t.Errorf("the next ADD with the new configuration: %v", err)
	}
	if _, err := n.add("podnet", "", "d"); ipam.CodeOf(err) != ipam.CodeConfig {
		t.Errorf("an ADD with the old configuration: %v", err)
	}
}

// Both locks would be one file, or the swap would take the checkpoint along.
func TestADataDirectoryInHostLocalsDirectoryIsRefused(t *testing.T) {
	for name, in := range map[string]func(parent string) (dataDir string){
		"the same": func(parent string) string { return filepath.Join(parent, "podnet") },
		"below it": func(parent string) string { return filepath.Join(parent, "podnet", "bolt") },
		"the same, by a link": func(parent string) string {
			if err := os.Symlink(parent, parent+".link"); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(parent+".link", "podnet", "bolt")
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			parent := n.dir
			n.hostLocalAdds("podnet", "10.6.0.2", "old")
			n.hostLocalAdds("podnet", "10.6.0.3", "older")
			n.dir = in(parent)
			call := func(id string) ipam.Call {
				c := n.call("podnet", "", id)
				c.Stdin = bytes.Replace(c.Stdin, []byte(`"migration":{`), fmt.Appendf(nil, `"migration":{"hostLocalDir":%q,`, parent), 1)
				return c
			}
			refused := func(verb string, err error, want uint) {
				t.Helper()
				if ipam.CodeOf(err) != want || !strings.Contains(err.Error(), "ipam.dataDir") || !strings.Contains(err.Error(), "hostLocalDir") {
					t.Errorf("%s: %v", verb, err)
				}
			}
			_, err := n.plugin().Add(call("a"))
			refused("ADD", err, ipam.CodeConfig)
			refused("STATUS", n.plugin().Status(call("")), ipam.CodeUnavailable)
			cfg := n.config("podnet", "10.6.0.0/24", "")
			cfg.LegacyParent, cfg.Migration.HostLocalDir = parent, parent
			_, err = n.state(nil).Backfill(Backfill{
				Configs: []*ipam.Config{cfg}, Running: []backfill.Sandbox{n.runs("r", "10.6.0.9")},
				BootTime: time.Minute, CacheDirs: []string{n.cache},
			})
			refused("backfill", err, ipam.CodeConfig)
			if err := n.plugin().Del(call("old")); err != nil {
				t.Errorf("DEL: %v", err)
			}
			for addr, held := range map[string]bool{"10.6.0.2": false, "10.6.0.3": true} {
				if _, err := os.Stat(filepath.Join(parent, "podnet", addr)); (err == nil) != held {
					t.Errorf("the file of %s: %v, want it there: %t", addr, err, held)
				}
			}
			if err := n.plugin().GC(call("")); err != nil {
				t.Errorf("GC: %v", err)
			}
			if _, err := os.Stat(filepath.Join(parent, "podnet", "10.6.0.3")); err == nil {
				t.Error("GC has left the file of 10.6.0.3")
			}
			if _, err := os.Stat(n.file(store.CheckpointFile)); err == nil {
				t.Error("a checkpoint was made in host-local's directory")
			}
		})
	}
}

// The configuration was changed since the last ADD: what is held is in the checkpoint.
func TestADelIsCarriedOutWhereADataDirectoryIsInHostLocalsByNow(t *testing.T) {
	for name, free := range map[string]func(*ipam.Plugin, ipam.Call) error{
		"DEL": (*ipam.Plugin).Del,
		"GC":  (*ipam.Plugin).GC,
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			parent := n.dir
			n.dir = filepath.Join(parent, "podnet")
			call := func(id, hostLocalDir string) ipam.Call {
				c := n.call("podnet", "contract", id)
				c.Stdin = bytes.Replace(c.Stdin, []byte(`"migration":{`), fmt.Appendf(nil, `"migration":{"hostLocalDir":%q,`, hostLocalDir), 1)
				return c
			}
			if _, err := n.plugin().Add(call("a", filepath.Join(parent, "elsewhere"))); err != nil {
				t.Fatal(err)
			}
			if err := free(n.plugin(), call("a", parent)); err != nil {
				t.Fatal(err)
			}
			if got, phase := n.held("podnet"); len(got) != 0 || phase != engine.Contract {
				t.Errorf("podnet has %v in %s", got, phase)
			}
		})
	}
}
