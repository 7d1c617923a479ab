package migrate

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

func TestReservationsOfHostLocalAreNotOverlooked(t *testing.T) {
	for name, c := range map[string]struct {
		files  []string
		refuse bool
	}{
		"no directory":           {nil, false},
		"nothing but its files":  {[]string{"lock", "last_reserved_ip.0"}, false},
		"an IPv4 reservation":    {[]string{"lock", "10.0.0.2"}, true},
		"an IPv6 reservation":    {[]string{"fd00::2"}, true},
		"an empty reservation":   {[]string{"10.0.0.3"}, true},
		"a file of another kind": {[]string{"notes.txt"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "podnet")
			for _, f := range c.files {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := refuseReservations(dir)
			if (err != nil) != c.refuse {
				t.Fatalf("err = %v", err)
			}
			if err != nil && (ipam.CodeOf(err) != ipam.CodeLegacyInUse || !strings.Contains(err.Error(), dir)) {
				t.Errorf("err = %v, code %d", err, ipam.CodeOf(err))
			}
		})
	}
}

func TestAFileInThePlaceOfTheDirectoryIsNoReservation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "podnet")
	if err := os.WriteFile(path, []byte("10.0.0.2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := refuseReservations(path); err != nil {
		t.Error(err)
	}
}

func TestHostLocalIsAskedEachTime(t *testing.T) {
	parent := t.TempDir()
	s := State{Store: store.New(filepath.Join(t.TempDir(), "data"), store.Options{}), LegacyParent: parent}
	add := func(network string) error {
		return s.Update(ipam.VerbAdd, network, func(tx ipam.Tx) error {
			return tx.Put(record.Allocation{Addr: netip.MustParseAddr("10.0.0.3"), Holders: []record.Holder{{
				Attachment: record.Attachment{ContainerID: "a", IfName: "eth0"},
			}}})
		})
	}
	if err := errors.Join(add("known"), s.Writable("known"), s.Writable("unknown")); err != nil {
		t.Fatal(err)
	}
	for _, network := range []string{"known", "unknown"} {
		dir := filepath.Join(parent, network)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "10.0.0.2"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, err := range map[string]error{
		"ADD of a known": add("known"), "STATUS of a known": s.Writable("known"),
		"ADD of an unknown": add("unknown"), "STATUS of an unknown": s.Writable("unknown"),
	} {
		if ipam.CodeOf(err) != ipam.CodeLegacyInUse {
			t.Errorf("%s network: %v", name, err)
		}
	}
}
