package hostlocal

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/cmdline"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// The tombstone is for people, but for its last lines.
const (
	tombstoneMagic = "bolt-local-tombstone 1"

	fieldNetwork = "network: "
	fieldBoot    = "boot: "
	fieldDataDir = "data directory: "
)

func encodeTombstone(t form.Tombstone) []byte {
	return fmt.Appendf(nil, `The addresses of network %[1]s are given out by bolt-local, which keeps them in
%[2]s. host-local must not run beside it: it would give them out
again. So this file stands where host-local kept its directory.

To go back to host-local with all pods running:

    bolt-local migrate rollback --network %[8]s --data-dir %[9]s

It makes the directory again from what bolt-local knows. Only then change the
type in the network's configuration. In the same edit see that ipam.dataDir is
the directory in which this file stands, or left out for /var/lib/cni/networks:
host-local knows nothing of ipam.migration.hostLocalDir, and would start empty
elsewhere. If the type was changed before, or no pod starts any more, add
--force to the command. Do not remove this file by hand.

%[3]s
%[4]s%[1]s
%[5]s%[2]s
%[6]s%[7]s
`, t.Network, t.DataDir, tombstoneMagic, fieldNetwork, fieldDataDir, fieldBoot, t.BootID, cmdline.Word(t.Network), cmdline.Word(t.DataDir))
}

// parseTombstone reports false for a file that is none of ours.
func parseTombstone(b []byte) (form.Tombstone, bool) {
	_, fields, ok := strings.Cut(string(b), "\n"+tombstoneMagic+"\n")
	if !ok {
		return form.Tombstone{}, false
	}
	var t form.Tombstone
	for line := range strings.Lines(fields) {
		line = strings.TrimSuffix(line, "\n")
		if v, ok := strings.CutPrefix(line, fieldNetwork); ok {
			t.Network = v
		} else if v, ok := strings.CutPrefix(line, fieldDataDir); ok {
			t.DataDir = v
		} else if v, ok := strings.CutPrefix(line, fieldBoot); ok {
			t.BootID = v
		}
	}
	return t, true
}

// lookAtTombstone reads what stands in the place of the directory. Any other file
// keeps host-local out as well; it is left alone.
func (d *Dir) lookAtTombstone() (form.Contents, error) {
	b, _, err := readAt(unix.AT_FDCWD, d.path, make([]byte, usualContent))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return form.Contents{}, nil // the parent is no directory, or it went this moment
	case errors.Is(err, errNotRegular):
		return form.Contents{}, fmt.Errorf("%s is neither a directory nor a regular file: remove it", d.path)
	case errors.Is(err, unix.ENOTDIR):
		return form.Contents{}, fmt.Errorf("the parent of %s is not a directory", d.path)
	case err != nil:
		return form.Contents{}, fmt.Errorf("reading %s: %w", d.path, err)
	}
	t, _ := parseTombstone(b)
	return form.Contents{Shut: &t}, nil
}
