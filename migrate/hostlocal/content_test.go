package hostlocal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/utils"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

func TestAReservationHasHostLocalsExactBytes(t *testing.T) {
	for want, att := range map[string]record.Attachment{
		"3f1c\r\neth0": {ContainerID: "3f1c", IfName: "eth0"},
		"a-b_c.d\r\n-": {ContainerID: "a-b_c.d", IfName: "-"},
		"3f1c":         {ContainerID: "3f1c"}, // the ifname is not known
	} {
		if got := content(att); string(got) != want {
			t.Errorf("%+v is %q, want %q", att, got, want)
		}
	}
}

// FuzzContent: whatever is read as a reservation can be stored, and is written
// back to bytes that read the same and that host-local finds by this key.
func FuzzContent(f *testing.F) {
	for _, seed := range []string{
		"3f1c\r\neth0", "3f1c\neth0", "3f1c", "3f1c\r\n", " 3f1c\r\neth0\r\n", "", "\r\n", "a\r\neth0\r\neth1",
		"a\r\n\x00\x00", "a\r\n\xff", "a\r\n\u2003", "a\r\neth0\u00a0", "\ufeffa\r\neth0",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		att, err := parseContent(b)
		if err != nil {
			if att != (record.Attachment{}) {
				t.Fatalf("both %+v and %v", att, err)
			}
			return
		}
		if utils.ValidateContainerID(att.ContainerID) != nil || len(att.ContainerID) > ipam.MaxContainerID {
			t.Fatalf("the container id %.50q", att.ContainerID)
		}
		if att.IfName != "" && (utils.ValidateInterfaceName(att.IfName) != nil || strings.ToValidUTF8(att.IfName, "") != att.IfName || strings.Contains(att.IfName, "\x00")) {
			t.Fatalf("the ifname %q", att.IfName)
		}
		written := content(att)
		if again, err := parseContent(written); again != att || err != nil {
			t.Fatalf("%+v is written as %q, and that is read as %+v, %v", att, written, again, err)
		}
		key := att.ContainerID // as host-local looks for it
		if att.IfName != "" {
			key += "\r\n" + att.IfName
		}
		if string(bytes.TrimSpace(written)) != key {
			t.Fatalf("%+v is written as %q, which host-local does not find", att, written)
		}
	})
}
