package netns

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

const ownPath = "/proc/self/ns/net"

func TestOwnNamespace(t *testing.T) {
	s := &System{}
	ns := s.Identify(ownPath)
	if ns.Path != ownPath || ns.Inode == 0 || ns.MountNS == 0 {
		t.Fatalf("Identify = %+v", ns)
	}
	if !s.IsOwn(ns) || !s.Alive(ns) || s.Dead(ns) {
		t.Errorf("own %v, alive %v, dead %v", s.IsOwn(ns), s.Alive(ns), s.Dead(ns))
	}
	moved := ns
	moved.Path = filepath.Join(t.TempDir(), "gone")
	if s.Alive(moved) || s.Dead(moved) {
		t.Errorf("a namespace that a process is in, under a path that is gone: alive %v, dead %v", s.Alive(moved), s.Dead(moved))
	}
}

func TestWhatIsNoNamespaceHasNoInode(t *testing.T) {
	s := &System{}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", file, filepath.Dir(file), "/nope"} {
		if ns := s.Identify(path); ns.Inode != 0 || s.IsOwn(ns) || s.Alive(ns) {
			t.Errorf("%q: %+v, own %v, alive %v", path, ns, s.IsOwn(ns), s.Alive(ns))
		}
	}
}

func TestDeadNeedsCertainty(t *testing.T) {
	own := (&System{}).Identify(ownPath)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := record.NetNS{Path: "/nope", Inode: 1, MountNS: own.MountNS}
	seen := func() *System { return &System{scanned: true, inUse: map[uint64]bool{own.Inode: true}} }
	for name, c := range map[string]struct {
		ns   record.NetNS
		s    *System
		want bool
	}{
		"its path is gone, no process is in it": {gone, seen(), true},
		"a plain file is left in its place":     {record.NetNS{Path: file, Inode: 1, MountNS: own.MountNS}, seen(), true},
		"another namespace is in its place":     {record.NetNS{Path: ownPath, Inode: 1, MountNS: own.MountNS}, seen(), true},
		"a file is in the way":                  {record.NetNS{Path: file + "/x", Inode: 1, MountNS: own.MountNS}, seen(), true},
		"a process is in it":                    {gone, &System{scanned: true, inUse: map[uint64]bool{1: true}}, false},
		"a process could not be asked":          {gone, &System{scanned: true, scanErr: os.ErrPermission}, false},
		"recorded in another mount namespace":   {record.NetNS{Path: "/nope", Inode: 1, MountNS: own.MountNS + 1}, seen(), false},
		"recorded without a mount namespace":    {record.NetNS{Path: "/nope", Inode: 1}, seen(), false},
		"recorded without an inode":             {record.NetNS{Path: "/nope", MountNS: own.MountNS}, seen(), false},
		"recorded without a path":               {record.NetNS{Inode: 1, MountNS: own.MountNS}, seen(), false},
		"its path leads to it":                  {own, seen(), false},
		"its path is too long to be looked up":  {record.NetNS{Path: "/" + strings.Repeat("a", 300), Inode: 1, MountNS: own.MountNS}, seen(), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.s.Dead(c.ns); got != c.want {
				t.Errorf("Dead = %v, want %v", got, c.want)
			}
			if unsure := c.s.Unsure(); (unsure != nil) != (name == "a process could not be asked") {
				t.Errorf("Unsure = %v", unsure)
			}
		})
	}
}

func TestTheMountNamespaceIsLookedUpOnce(t *testing.T) {
	s := &System{}
	own := s.Identify(ownPath)
	if s.Elsewhere(own) {
		t.Fatalf("%+v was recorded here", own)
	}
	s.mount.inode++ // what it remembers from now on
	if !s.Elsewhere(own) {
		t.Error("it was looked up again")
	}
}

func TestScanProcesses(t *testing.T) {
	proc := t.TempDir()
	link := func(pid, target string) {
		dir := filepath.Join(proc, pid, "ns")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, "net")); err != nil {
			t.Fatal(err)
		}
	}
	link("1", "net:[4026531840]")
	link("77", "net:[4026532000]")
	if err := os.MkdirAll(filepath.Join(proc, "78"), 0o755); err != nil { // a zombie has no ns/net
		t.Fatal(err)
	}
	link("self", "net:[5]") // no process id
	got, err := scanProcesses(proc)
	if err != nil || len(got) != 2 || !got[4026531840] || !got[4026532000] {
		t.Errorf("%v, %v", got, err)
	}
	link("79", "elsewhere")
	if got, err := scanProcesses(proc); err == nil {
		t.Errorf("a link that is not understood: %v", got)
	}
	if got, err := scanProcesses(t.TempDir()); err == nil {
		t.Errorf("no process at all: %v", got)
	}
}
