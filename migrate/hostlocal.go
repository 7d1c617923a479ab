package migrate

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"syscall"

	"github.com/bolt-local/bolt-local/ipam"
)

// refuseReservations fails where host-local's directory of a network has
// reservations: files that are named by an address.
func refuseReservations(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return nil
	case err != nil:
		return ipam.Errorf(ipam.CodeIO, "reading host-local's directory: %w", err)
	}
	held := 0
	for _, e := range entries {
		if _, err := netip.ParseAddr(e.Name()); err == nil {
			held++
		}
	}
	if held == 0 {
		return nil
	}
	return ipam.Errorf(ipam.CodeLegacyInUse,
		"%s holds %d reservations of host-local, which this version cannot take over: drain the node's pods and remove the directory, or set the type back to host-local", dir, held)
}
