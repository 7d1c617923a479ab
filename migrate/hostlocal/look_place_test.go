package hostlocal

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
)

func TestThePlacesOfANetwork(t *testing.T) {
	d := At("/var/lib/cni/networks/podnet")
	if d.Path() != "/var/lib/cni/networks/podnet" || d.beside() != "/var/lib/cni/networks/.bolt-local-podnet" {
		t.Errorf("%s and %s", d.Path(), d.beside())
	}
}

func TestWhatMayStandInTheDirectorysPlace(t *testing.T) {
	parentOf := func(d *Dir) string { return filepath.Dir(d.path) }
	mkParent := func(d *Dir) error { return os.MkdirAll(parentOf(d), 0o755) }
	for name, c := range map[string]struct {
		make func(d *Dir) error
		want form.Contents
		err  string // in the error's text
	}{
		"nothing":                   {make: mkParent},
		"nothing, without a parent": {make: func(*Dir) error { return nil }},
		"a tombstone": {
			make: func(d *Dir) error {
				return errors.Join(mkParent(d), os.WriteFile(d.path, encodeTombstone(tombstone(bootA)), 0o644))
			},
			want: form.Contents{Shut: &form.Tombstone{Network: "podnet", DataDir: "/var/lib/cni/bolt-local", BootID: bootA}}},
		"an empty file": {
			make: func(d *Dir) error { return errors.Join(mkParent(d), os.WriteFile(d.path, nil, 0o644)) },
			want: form.Contents{Shut: &form.Tombstone{}}},
		"another's file": {
			make: func(d *Dir) error { return errors.Join(mkParent(d), os.WriteFile(d.path, []byte("keep out\n"), 0o644)) },
			want: form.Contents{Shut: &form.Tombstone{}}},
		"another's file of 1 MiB": {
			make: func(d *Dir) error { return errors.Join(mkParent(d), os.WriteFile(d.path, make([]byte, 1<<20), 0o644)) },
			want: form.Contents{Shut: &form.Tombstone{}}},
		"a link to a directory": {
			make: func(d *Dir) error {
				return errors.Join(os.MkdirAll(parentOf(d)+"/real", 0o755), os.Symlink("real", d.path))
			},
			err: "podnet is a symbolic link, which is not followed"},
		"a link to a file": {
			make: func(d *Dir) error {
				return errors.Join(mkParent(d), os.WriteFile(parentOf(d)+"/real", nil, 0o644), os.Symlink("real", d.path))
			},
			err: "podnet is a symbolic link, which is not followed"},
		"a link to nothing": {
			make: func(d *Dir) error { return errors.Join(mkParent(d), os.Symlink("nothing", d.path)) },
			err:  "podnet is a symbolic link, which is not followed"},
		"a pipe": {
			make: func(d *Dir) error { return errors.Join(mkParent(d), unix.Mkfifo(d.path, 0o600)) },
			err:  "podnet is neither a directory nor a regular file: remove it"},
		"a socket": {
			make: func(d *Dir) error { return errors.Join(mkParent(d), unix.Mknod(d.path, unix.S_IFSOCK|0o600, 0)) },
			err:  "podnet is neither a directory nor a regular file: remove it"},
		"nothing, below a file": {
			make: func(d *Dir) error { return os.WriteFile(parentOf(d), nil, 0o644) },
			err:  "the parent of "},
	} {
		t.Run(name, func(t *testing.T) {
			d := newPlace(t)
			must(t, c.make(d))
			root := filepath.Dir(parentOf(d))
			before := tree(t, root)
			for range 2 {
				got, err := d.Look()
				switch {
				case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), d.path)):
					t.Errorf("err = %v, want %q and the path in it", err, c.err)
				case c.err == "" && err != nil:
					t.Error(err)
				case got.Stamp() != "":
					t.Errorf("it has the stamp %q", got.Stamp())
				}
				if diff := diffContents(c.want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
			if diff := cmp.Diff(before, tree(t, root)); diff != "" {
				t.Errorf("it has changed something:\n%s", diff)
			}
		})
	}
}

func TestADirectoryThatCannotBeReadIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ unreadable func(d *Dir) string }{
		"the directory":    {func(d *Dir) string { return d.path }},
		"its parent":       {func(d *Dir) string { return filepath.Dir(d.path) }},
		"one of its files": {func(d *Dir) string { return d.file("10.0.0.3") }},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, someFiles())
			for name := range someFiles() {
				must(t, os.Chmod(d.file(name), 0o644))
			}
			path := c.unreadable(d)
			must(t, os.Chmod(path, 0))
			t.Cleanup(func() { must(t, os.Chmod(path, 0o755)) })
			asNobody(t, d)
			_, err := d.Look()
			if !isPermission(err) || !strings.Contains(err.Error(), path) {
				t.Errorf("err = %v, want permission denied for %s", err, path)
			}
		})
	}
}

func isPermission(err error) bool {
	return err != nil && strings.Contains(err.Error(), unix.EACCES.Error())
}

// A directory named like an address need not be opened to be told.
func TestADirectoryThatNobodyMayReadIsSetAside(t *testing.T) {
	d := newDir(t, files{})
	must(t, os.Mkdir(d.file("10.0.0.2"), 0o000))
	asNobody(t, d)
	if diff := cmp.Diff(found{Aside: []string{"10.0.0.2!"}}, foundIn(t, look(t, d))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAReadOnlyDirectoryIsRead(t *testing.T) {
	d := newDir(t, someFiles())
	want := look(t, d)
	ownMounts(t)
	readOnly(t, filepath.Dir(d.path))
	if diff := diffContents(want, look(t, d)); diff != "" {
		t.Errorf("-before +read-only:\n%s", diff)
	}
}

func TestTheOrderOfTheNamesMakesNoDifference(t *testing.T) {
	d := newDir(t, files{
		"10.0.0.2": "a\r\neth0", "10.0.0.3": "b", "10.0.0.4": "", "10.0.0.5": "c", "::ffff:10.0.0.5": "", "::FFFF:10.0.0.5": "",
		"::ffff:a00:5": "", "fd00::1": "a\r\neth0", "FD00::1": "x", "fD00::1": "y", "last_reserved_ip.0": "10.0.0.2",
		"last_reserved_ip.00": "10.0.0.9", lockName: "", "notes.txt": "",
	})
	want := look(t, d)
	dir, err := os.Open(d.path)
	must(t, err)
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	must(t, err)
	for i := range 3 * len(names) {
		if i%len(names) == 0 {
			slices.Sort(names)
			if i > 0 {
				slices.Reverse(names[i/len(names):])
			}
		}
		names = append(names[1:], names[0])
		got, err := readAll(dir, names)
		must(t, err)
		if diff := diffContents(want, got); diff != "" || got.Stamp() != want.Stamp() {
			t.Fatalf("in the order %q:\n%s", names, diff)
		}
	}
}

// host-local of another process may remove a file between the reading of the
// names and of the files, where there is no lock yet.
func TestAFileThatVanishesMeanwhileIsPassedOver(t *testing.T) {
	d := newDir(t, files{"10.0.0.2": "a\r\neth0"})
	dir, err := os.Open(d.path)
	must(t, err)
	defer dir.Close()
	got, err := readAll(dir, []string{"10.0.0.3", "last_reserved_ip.0", lockName, "10.0.0.2"})
	must(t, err)
	if diff := cmp.Diff(found{Entries: []string{"10.0.0.2=a/eth0"}}, foundIn(t, got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestADirectoryOf10000FilesIsReadWhole(t *testing.T) {
	d := newDir(t, files{lockName: ""})
	addr := ip("10.0.0.0")
	var want []netip.Addr
	for i := range 10_000 {
		addr = addr.Next()
		want = append(want, addr)
		must(t, os.WriteFile(d.file(addr.String()), fmt.Appendf(nil, "container-%d\r\neth0", i), 0o600))
	}
	got := look(t, d)
	if len(got.Entries) != len(want) || len(got.SetAside) != 0 {
		t.Fatalf("%d entries, %d set aside", len(got.Entries), len(got.SetAside))
	}
	for i, e := range got.Entries {
		if e.Addr != want[i] || e.Holder.ContainerID != fmt.Sprintf("container-%d", i) {
			t.Fatalf("entry %d is %s of %q", i, e.Addr, e.Holder.ContainerID)
		}
	}
	if again := look(t, d); again.Stamp() != got.Stamp() {
		t.Error("the second time its stamp is another")
	}
}
