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
	noticeMagic = "bolt-local-tombstone 1"

	fieldNetwork = "network: "
	fieldBoot    = "boot: "
	fieldDataDir = "data directory: "
)

func encodeNotice(n form.Notice) []byte {
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
`, n.Network, n.DataDir, noticeMagic, fieldNetwork, fieldDataDir, fieldBoot, n.BootID, cmdline.Word(n.Network), cmdline.Word(n.DataDir))
}

// parseNotice reports false for a file that is none of ours.
func parseNotice(b []byte) (form.Notice, bool) {
	_, fields, ok := strings.Cut(string(b), "\n"+noticeMagic+"\n")
	if !ok {
		return form.Notice{}, false
	}
	var n form.Notice
	for line := range strings.Lines(fields) {
		line = strings.TrimSuffix(line, "\n")
		if v, ok := strings.CutPrefix(line, fieldNetwork); ok {
			n.Network = v
		} else if v, ok := strings.CutPrefix(line, fieldDataDir); ok {
			n.DataDir = v
		} else if v, ok := strings.CutPrefix(line, fieldBoot); ok {
			n.BootID = v
		}
	}
	return n, true
}

// lookAtNotice reads what stands in the place of the directory. Any other file
// keeps host-local out as well; it is left alone.
func (d *Dir) lookAtNotice() (form.Contents, error) {
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
	n, _ := parseNotice(b)
	return form.Contents{Shut: &n}, nil
}
