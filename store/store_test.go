package store

import (
	"errors"
	"net/netip"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/store/record"
)

func TestWhatIsPutIsThereAfterReopening(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.add("10.0.0.3", "b")
	n.del("10.0.0.2")
	n.add("fd00::2", "c")
	if diff := cmp.Diff(map[string]string{"10.0.0.3": "b", "fd00::2": "c"}, n.held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

func TestPutReplacesTheHolderInBothIndexes(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.add("10.0.0.2", "b")
	err := n.Read(func(tx *Tx) error {
		net := tx.Network("podnet")
		if held, err := net.HeldBy(record.Attachment{ContainerID: "a", IfName: "eth0"}); err != nil || len(held) != 0 {
			t.Errorf("a holds %v, %v", held, err)
		}
		if held, err := net.HeldBy(record.Attachment{ContainerID: "b", IfName: "eth0"}); err != nil || len(held) != 1 {
			t.Errorf("b holds %v, %v", held, err)
		}
		return tx.Verify()
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPrefixOfAnIDIsAnotherAttachment(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "0123456789abX")
	err := n.Read(func(tx *Tx) error {
		held, err := tx.Network("podnet").HeldBy(record.Attachment{ContainerID: "0123456789ab", IfName: "eth0"})
		if len(held) != 0 {
			t.Errorf("held by the prefix: %v", held)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFirstFree(t *testing.T) {
	n := newNode(t)
	for _, a := range []string{"10.0.0.2", "10.0.0.3", "10.0.0.5", "255.255.255.255", "fd00::ffff", "fd00::1:0"} {
		n.add(a, "x"+a)
	}
	n.boot = "boot-002"
	n.add("10.0.0.4", "new")
	never := func(record.Allocation) bool { return false }
	always := func(record.Allocation) bool { return true }
	for _, c := range []struct {
		name, lo, hi string
		stale        func(record.Allocation) bool
		want         string
	}{
		{"the first is free", "10.0.0.1", "10.0.0.9", never, "10.0.0.1"},
		{"behind a run", "10.0.0.2", "10.0.0.9", never, "10.0.0.6"},
		{"none", "10.0.0.2", "10.0.0.5", never, ""},
		{"one that a reboot freed", "10.0.0.2", "10.0.0.5", always, "10.0.0.2"},
		{"this boot's is not stale", "10.0.0.4", "10.0.0.4", always, ""},
		{"the last of all IPv4", "255.255.255.254", "255.255.255.255", never, "255.255.255.254"},
		{"no way past the last of all IPv4", "255.255.255.255", "255.255.255.255", never, ""},
		{"a carry in IPv6", "fd00::ffff", "fd00::2:0", never, "fd00::1:1"},
		{"all of IPv6", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", never, "::1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := n.Read(func(tx *Tx) error {
				got, ok, err := tx.Network("podnet").FirstFree(ip(c.lo), ip(c.hi), c.stale)
				if err != nil {
					return err
				}
				want, _ := netip.ParseAddr(c.want)
				if ok != (c.want != "") || got != want {
					t.Errorf("got %v %v, want %q", got, ok, c.want)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAFailedCallLeavesEveryByte(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	before := n.digest()
	boom := errors.New("boom")
	err := n.update(opAdd, func(net *Network) error {
		return errors.Join(net.Put(allocation(1, "10.0.0.3", "b")), net.Delete(ip("10.0.0.2")), boom)
	})
	if !errors.Is(err, boom) {
		t.Fatalf("err = %v", err)
	}
	if n.digest() != before {
		t.Error("the checkpoint has changed")
	}
	if diff := cmp.Diff(map[string]string{"10.0.0.2": "a"}, n.held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

func TestWhatChangesNothingIsNotWritten(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	before := n.digest()
	n.del("10.0.0.77")
	if err := n.update(opAdd, func(*Network) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if n.digest() != before {
		t.Error("the checkpoint has changed")
	}
}

func TestNothingIsMadeWithoutAnAdd(t *testing.T) {
	n := newNode(t)
	called := false
	for _, op := range []Op{opDel, opTool} {
		if err := n.Update(op, func(*Tx) error { called = true; return nil }); err != nil {
			t.Errorf("%s: %v", op.Verb, err)
		}
	}
	if len(n.held()) != 0 || called {
		t.Error("something is held, or fn was called")
	}
	if _, err := os.Stat(n.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	n.del("10.0.0.2")
	if names, _ := os.ReadDir(n.dir); len(names) != 0 {
		t.Errorf("files were made: %v", names)
	}
}

func TestCursorsAreBounded(t *testing.T) {
	n := newNode(t)
	set := func(i int) record.RangeSet {
		a := netip.AddrFrom4([4]byte{10, 0, byte(i), 1})
		return record.RangeSet{{Start: a, End: a}}
	}
	for i := range 3 * maxCursors {
		if err := n.update(opAdd, func(net *Network) error { return net.SetCursor(set(i), set(i)[0].Start) }); err != nil {
			t.Fatal(err)
		}
	}
	err := n.Read(func(tx *Tx) error {
		kept := 0
		for i := range 3 * maxCursors {
			if tx.Network("podnet").Cursor(set(i)).IsValid() {
				kept++
			}
		}
		if last := tx.Network("podnet").Cursor(set(3*maxCursors - 1)); kept > maxCursors || !last.IsValid() {
			t.Errorf("%d cursors are kept, the last is %v", kept, last)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRangesReadBack(t *testing.T) {
	n := newNode(t)
	want := []record.RangeSet{{{
		Subnet: netip.MustParsePrefix("10.0.0.0/24"), Start: ip("10.0.0.1"), End: ip("10.0.0.254"), Gateway: ip("10.0.0.1"),
		Exclude: []netip.Prefix{netip.MustParsePrefix("10.0.0.8/29")},
	}}, {{Subnet: netip.MustParsePrefix("fd00::/127"), Start: ip("fd00::"), End: ip("fd00::1")}}}
	if err := n.update(opAdd, func(net *Network) error { return net.SetRanges(want) }); err != nil {
		t.Fatal(err)
	}
	err := n.Read(func(tx *Tx) error {
		got, err := tx.Network("podnet").Ranges()
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
			t.Errorf("ranges (-want +got):\n%s", diff)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
