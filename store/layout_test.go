package store

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/record"
)

// What stands in this test is on the disks of nodes. A change is a new schema.
func TestNamesOnDiskArePinned(t *testing.T) {
	n := newNode(t)
	set := record.RangeSet{{Start: ip("10.1.0.2"), End: ip("10.1.0.9")}}
	err := n.update(opAdd, func(net *Network) error {
		if err := net.Put(allocation(net.Epoch(), "10.1.0.2", "3f1c")); err != nil {
			return err
		}
		if err := net.SetCursor(set, ip("10.1.0.2")); err != nil {
			return err
		}
		if err := net.SetMigration([]byte(`{"phase":"switch"}`)); err != nil {
			return err
		}
		return net.SetRanges([]record.RangeSet{set})
	})
	if err != nil {
		t.Fatal(err)
	}
	n.boot = "" // who cannot read it gives no number
	err = n.update(opAdd, func(net *Network) error { return net.Put(allocation(0, "fd00::2", "3f1c")) })
	if err != nil {
		t.Fatal(err)
	}
	n.boot = "boot-001"
	var keys []string
	err = n.Read(func(tx *Tx) error {
		var walk func(path string, b *bolt.Bucket) error
		walk = func(path string, b *bolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				if v == nil {
					return walk(path+"/"+string(k), b.Bucket(k))
				}
				keys = append(keys, path+"/"+strings.ReplaceAll(printable(k), "\x00", `\0`))
				return nil
			})
		}
		return tx.bolt.ForEach(func(name []byte, b *bolt.Bucket) error { return walk(string(name), b) })
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(keys)
	v4, v6 := "00000000000000000000ffff0a010002", "fd000000000000000000000000000002"
	want := []string{
		"meta/commit",
		"meta/epochs/boot-001",
		"meta/format",
		"meta/stamp/1",
		`meta/unnumbered/podnet\0<` + v6 + ">",
		"networks/podnet/allocations/<" + v4 + ">",
		"networks/podnet/allocations/<" + v6 + ">",
		`networks/podnet/attachments/3f1c\0eth0\0<` + v4 + ">",
		`networks/podnet/attachments/3f1c\0eth0\0<` + v6 + ">",
		"networks/podnet/cursors/10.1.0.2-10.1.0.9",
		"networks/podnet/migration",
		"networks/podnet/ranges",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys on disk (-want +got):\n%s", diff)
	}
	files, err := os.ReadDir(n.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if diff := cmp.Diff([]string{"checkpoint.db", "deferred", "journal", "lock"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestNothingIsWrittenBesideTheDataDirectory(t *testing.T) {
	n := newNodeWith(t, 3)
	n.boot = "boot-002"
	n.add("10.0.0.9", "z")
	entries, err := os.ReadDir(filepath.Dir(n.dir))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(n.dir) {
		t.Errorf("beside it: %v, %v", entries, err)
	}
}

// printable writes an address at the end of a key in hexadecimal.
func printable(k []byte) string {
	if len(k) < addrLen || (k[len(k)-addrLen] != 0 && k[len(k)-addrLen] != 0xfd) {
		return string(k)
	}
	cut := len(k) - addrLen
	return string(k[:cut]) + "<" + hex.EncodeToString(k[cut:]) + ">"
}

func TestDocumentsOnDiskArePinned(t *testing.T) {
	n := newNode(t)
	err := n.update(opAdd, func(net *Network) error {
		return errors.Join(net.SetMigration([]byte(`{"phase":"switch"}`)), net.SetRanges([]record.RangeSet{{{Subnet: netip.MustParsePrefix("10.1.0.0/24"), Start: ip("10.1.0.2"), End: ip("10.1.0.9")}}}))
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"networks/podnet/migration": "\x9a\x9a\xf51" + `{"phase":"switch"}`,
		"networks/podnet/ranges":    "k\x05.\xd6" + `[[{"subnet":"10.1.0.0/24","rangeStart":"10.1.0.2","rangeEnd":"10.1.0.9"}]]`,
	} {
		if got := n.content()[path]; got != want {
			t.Errorf("%s:\n got %q\nwant %q", path, got, want)
		}
	}
}

func TestTheNoteOfADamageOnDiskIsPinned(t *testing.T) {
	c := newContent()
	err := c.note(Damage{
		Time: time.Date(2026, 11, 29, 23, 4, 8, 0, time.UTC), Problem: "cut off", Kept: "k", Journal: "j",
		From: SourceOldForm, Network: "podnet", Searched: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	value := c.get([]string{bucketMeta, bucketDamage}, "\x00\x00\x00\x00\x00\x00\x00\x01")
	want := `{"time":"2026-11-29T23:04:08Z","problem":"cut off","kept":"k","journal":"j","from":"old-form","network":"podnet","searched":true}`
	if len(value) < 4 || string(value[4:]) != want {
		t.Errorf("got %q, want a checksum and %s", value, want)
	}
}

func TestFormatOnDiskIsPinned(t *testing.T) {
	f := Format{Schema: 1, OldestWriter: 1, Writer: "0.1.0", ID: "abc"}
	b, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema":1,"oldestWriter":1,"writer":"0.1.0","created":"0001-01-01T00:00:00Z","id":"abc"}`
	if string(b) != want {
		t.Errorf("format:\n got %s\nwant %s", b, want)
	}
}

func TestFormatKeepsUnknownFields(t *testing.T) {
	f, err := parseFormat([]byte(`{"schema":2,"oldestWriter":1,"writer":"0.9","created":"2026-01-01T00:00:00Z","id":"x","shape":"new"}`))
	if err != nil {
		t.Fatal(err)
	}
	f.Writer = "0.1.0"
	b, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"shape":"new"`, `"schema":2`, `"writer":"0.1.0"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is missing in %s", want, b)
		}
	}
}

func TestAttachmentKeysReadBack(t *testing.T) {
	for _, att := range []record.Attachment{{ContainerID: "a", IfName: "eth0"}, {ContainerID: "a", IfName: ""}, {ContainerID: "a-b_c.d", IfName: "net1"}} {
		got, addr, err := parseAttachmentKey(attachmentKey(att, ip("10.0.0.0")))
		if err != nil || got != att || addr != ip("10.0.0.0") {
			t.Errorf("%v: %v %v %v", att, got, addr, err)
		}
	}
}

func TestALongRangeSetHasACursor(t *testing.T) {
	var set record.RangeSet
	for i := range 40 {
		a := ip("fd00::").As16()
		a[7] = byte(i)
		r := record.Range{Start: netip.AddrFrom16(a), End: netip.AddrFrom16(a)}
		set = append(set, r)
	}
	n := newNode(t)
	if err := n.update(opAdd, func(net *Network) error { return net.SetCursor(set, set[3].Start) }); err != nil {
		t.Fatal(err)
	}
	err := n.Read(func(tx *Tx) error {
		if got := tx.Network("podnet").Cursor(set); got != set[3].Start {
			t.Errorf("cursor = %v, want %v", got, set[3].Start)
		}
		if got := tx.Network("podnet").Cursor(set[1:]); got.IsValid() {
			t.Errorf("another set has the cursor %v", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
