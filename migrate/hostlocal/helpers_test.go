package hostlocal

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

const (
	bootA = "11111111-1111-4111-8111-111111111111"
	bootB = "22222222-2222-4222-8222-222222222222"
)

// files are a directory's: name to content.
type files map[string]string

// someFiles are what host-local leaves for two pods.
func someFiles() files {
	return files{
		"10.0.0.2": "a\r\neth0", "10.0.0.3": "b\r\neth0",
		"last_reserved_ip.0": "10.0.0.3", lockName: "",
	}
}

func with(f files, name, content string) files {
	f[name] = content
	return f
}

// newPlace is where network podnet's directory may be, in a parent of its own.
func newPlace(t testing.TB) *Dir {
	t.Helper()
	return dirOf(filepath.Join(t.TempDir(), "networks"), "podnet")
}

// newDir is network podnet's directory with these files.
func newDir(t testing.TB, f files) *Dir {
	t.Helper()
	d := newPlace(t)
	writeFiles(t, d.path, f)
	return d
}

func writeFiles(t testing.TB, dir string, f files) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	for name, content := range f {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func look(t testing.TB, d *Dir) form.Contents {
	t.Helper()
	c, err := d.Look()
	must(t, err)
	return c
}

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

func holder(id, ifname string) *record.Holder {
	return &record.Holder{Attachment: record.Attachment{ContainerID: id, IfName: ifname}}
}

// add, over and del are changes of what c has.
func add(addr, id string) form.Change {
	return form.Change{Addr: ip(addr), Want: holder(id, "eth0")}
}

func over(t testing.TB, c form.Contents, addr, id string) form.Change {
	t.Helper()
	ch := del(t, c, addr)
	ch.Want = holder(id, "eth0")
	return ch
}

func del(t testing.TB, c form.Contents, addr string) form.Change {
	t.Helper()
	if e, ok := c.At(ip(addr)); ok {
		return form.Change{Addr: e.Addr, Had: &e}
	}
	a, ok := c.AsideAt(ip(addr))
	if !ok {
		t.Fatalf("there is nothing at %s", addr)
	}
	return form.Change{Addr: a.Addr, Had: &form.Entry{Addr: a.Addr, Holder: record.Holder{Mark: a.Mark}}}
}

func entry(addr, id, ifname string) form.Entry {
	return form.Entry{Addr: ip(addr), Holder: *holder(id, ifname)}
}

func tombstone(boot string) form.Tombstone {
	return form.Tombstone{Network: "podnet", DataDir: "/var/lib/cni/bolt-local", BootID: boot}
}

// state is what stands in d's place, for comparing: a directory's files and
// their content, or the kind of thing that it is. The place beside is part of it.
type state struct{ Place, Beside map[string]string }

func stateOf(t testing.TB, d *Dir) state {
	t.Helper()
	return state{listing(t, d.path), listing(t, d.beside())}
}

// listing maps the names in a directory to content, or to the kind of what is
// no regular file. What is no directory has the name "".
func listing(t testing.TB, path string) map[string]string {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		if err == unix.ENOENT {
			return nil
		}
		t.Fatal(err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return map[string]string{"": describe(t, path)}
	}
	list := map[string]string{}
	entries, err := os.ReadDir(path)
	must(t, err)
	for _, e := range entries {
		list[e.Name()] = describe(t, filepath.Join(path, e.Name()))
	}
	return list
}

func describe(t testing.TB, path string) string {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	if !info.Mode().IsRegular() {
		return info.Mode().Type().String()
	}
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

func diffState(before, after state) string { return cmp.Diff(before, after) }

// lastOf is one cursor.
func lastOf(set int, addr string) map[int]netip.Addr { return map[int]netip.Addr{set: ip(addr)} }

// tree is all that a stat(2) tells of a directory and what is below, and all
// bytes. The time of the last access is left out.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	list := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		var bytes []byte
		if isRegular(&st) {
			if bytes, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		list[path] = fmt.Sprintf("inode %d mode %o links %d owner %d:%d size %d changed %d modified %d %q",
			st.Ino, st.Mode, st.Nlink, st.Uid, st.Gid, st.Size, st.Ctim.Nano(), st.Mtim.Nano(), bytes)
		return nil
	}))
	return list
}

func diffTree(before, after map[string]string) string { return cmp.Diff(before, after) }

// dirOf is that of a network.
func dirOf(parent, network string) *Dir { return At(filepath.Join(parent, network)) }
