package process

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// ballast is what the filler of a disk holds at first, in bytes. ADD cannot use
// it: half of it is given back for each time that ADD has to work again.
const ballast = 128 << 10

// tooManyAdds is more than any disk of the test has room for.
const tooManyAdds = 2000

// A disk that fills up must stop ADD alone: with DEL refused, pods would be
// stuck, and nothing would ever give the space back.
func TestAFullDiskRefusesADDAndStillFreesAddresses(t *testing.T) {
	if !testenv.InOwnMounts(t, lab.BoltLocal) {
		return
	}
	binary := testenv.Binary(t, lab.BoltLocal)
	for _, kib := range []int64{48, 52, 56, 60, 64, 128, 256} {
		t.Run(fmt.Sprintf("%d KiB", kib), func(t *testing.T) {
			d := newDisk(t, kib<<10)
			n := network{name: "full", subnet: "10.94.0.0/20", dataDir: filepath.Join(d.dir, "data"), binary: binary}

			held := n.addUntilRefused(t, "deleted")
			d.fill(t)
			maps.Copy(held, n.addUntilRefused(t, "deleted-too"))
			n.expectHeld(t, held)
			for id := range held {
				d.fill(t) // a journal that could not be written has given its space back
				n.run(t, n.call("DEL", id))
			}
			n.expectHeld(t, nil)

			d.shrinkFiller(t, ballast/2)
			swept := n.addUntilRefused(t, "swept")
			n.expectHeld(t, swept)
			d.fill(t)
			n.run(t, n.gc())
			n.expectHeld(t, nil)

			d.shrinkFiller(t, 0)
			n.expectHeld(t, map[string]netip.Addr{"last": n.add(t, "last")})
			t.Logf("DEL freed %d, GC %d", len(held), len(swept))
		})
	}
}

// addUntilRefused attaches one container after another until the disk is full.
// It returns what the ADDs answered.
func (n network) addUntilRefused(t *testing.T, prefix string) map[string]netip.Addr {
	t.Helper()
	held := map[string]netip.Addr{}
	for i := range tooManyAdds {
		call := n.call("ADD", fmt.Sprintf("%s-%064d", prefix, i)) // as long as real ones
		reply, err := call.Run(t.Context(), n.binary)
		if err != nil {
			t.Fatal(err)
		}
		if !reply.Failed() {
			held[call.ContainerID] = testenv.Address(t, reply)
			continue
		}
		text := reply.Error().Error()
		if reply.ErrorCode() != types.ErrIOFailure || !strings.Contains(text, n.dataDir) || !strings.Contains(text, "free disk space") {
			t.Errorf("ADD was refused with code %d: %s\nwant code %d, naming %s and saying to free disk space",
				reply.ErrorCode(), text, types.ErrIOFailure, n.dataDir)
		}
		n.run(t, n.call("DEL", call.ContainerID)) // as runtimes do after an ADD that failed
		return held
	}
	t.Fatalf("%d ADDs, and the disk is not full", tooManyAdds)
	return nil
}

// expectHeld compares the dump with what was answered.
func (n network) expectHeld(t *testing.T, want map[string]netip.Addr) {
	t.Helper()
	if got := n.dump(t); !maps.Equal(got, want) {
		t.Errorf("dump shows\n%v\nwant\n%v", got, want)
	}
}

// disk is a small file system that a test fills up.
type disk struct {
	dir    string
	filler *os.File
}

// newDisk is a disk with so many bytes free.
func newDisk(t *testing.T, free int64) disk {
	t.Helper()
	dir := testenv.Tmpfs(t, free+ballast)
	filler, err := os.OpenFile(filepath.Join(dir, "filler"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = filler.Close() })
	if _, err := filler.Write(make([]byte, ballast)); err != nil {
		t.Fatal(err)
	}
	return disk{dir: dir, filler: filler}
}

// fill takes all space that is left.
func (d disk) fill(t *testing.T) {
	t.Helper()
	for {
		if _, err := d.filler.Write(make([]byte, os.Getpagesize())); errors.Is(err, unix.ENOSPC) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(d.dir, &fs); err != nil {
		t.Fatal(err)
	}
	if fs.Bfree > 0 {
		t.Fatalf("%s was filled up, but has %d blocks free", d.dir, fs.Bfree)
	}
}

// shrinkFiller gives back what the filler has beyond so many bytes.
func (d disk) shrinkFiller(t *testing.T, size int64) {
	t.Helper()
	if err := d.filler.Truncate(size); err != nil {
		t.Fatal(err)
	}
}
