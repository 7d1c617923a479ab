package migrate

import (
	"os"
	"path/filepath"
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
		})
	}
}
