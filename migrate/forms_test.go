package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
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
