package hostlocal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// found is what a Look tells, for tables: entries as "address=id/ifname", and
// "!" after what is set aside for good, and the name where it is another.
type found struct {
	Entries, Aside []string
	Last           map[int]string
	Bare           bool
}

func foundIn(t *testing.T, c form.Contents) found {
	t.Helper()
	if !c.Exists || c.Shut != nil {
		t.Fatalf("it is no open directory: %+v", c)
	}
	f := found{Bare: c.Bare}
	for _, e := range c.Entries {
		if e.Holder.Origin != record.OriginHostLocal || e.Holder.Mark == "" {
			t.Errorf("%s has origin %q and mark %q", e.Addr, e.Holder.Origin, e.Holder.Mark)
		}
		f.Entries = append(f.Entries, fmt.Sprintf("%s=%s/%s", e.Addr, e.Holder.ContainerID, e.Holder.IfName))
	}
	for _, a := range c.SetAside {
		if a.Mark == "" {
			t.Errorf("%s has no mark", a.Addr)
		}
		text := a.Addr.String() + map[bool]string{true: "!"}[a.Fixed]
		if a.Name != "" {
			text += " as " + a.Name
		}
		f.Aside = append(f.Aside, text)
	}
	for set, addr := range c.Last {
		if f.Last == nil {
			f.Last = map[int]string{}
		}
		f.Last[set] = addr.String()
	}
	return f
}

func TestADirectoryAsFoundInTheField(t *testing.T) {
	longID := strings.Repeat("a", ipam.MaxContainerID)
	for name, c := range map[string]struct {
		files files
		make  map[string]func(path string) error // what is no regular file
		want  found
	}{
		"empty":               {want: found{Bare: true}},
		"with its lock alone": {files: files{lockName: ""}, want: found{Bare: true}},
		"with a lock that has something in it": {
			files: files{lockName: "10.0.0.9"}, want: found{Bare: true}},
		"as host-local writes it": {
			files: files{"10.0.0.2": "3f1c\r\neth0", "10.0.0.3": "77aa\r\nnet1", lockName: "", "last_reserved_ip.0": "10.0.0.3"},
			want:  found{Entries: []string{"10.0.0.2=3f1c/eth0", "10.0.0.3=77aa/net1"}, Last: map[int]string{0: "10.0.0.3"}}},
		"without a lock": {
			files: files{"10.0.0.2": "3f1c\r\neth0"}, want: found{Entries: []string{"10.0.0.2=3f1c/eth0"}}},
		"with both families": {
			files: files{"10.0.0.2": "a\r\neth0", "fd00::a": "a\r\neth0", "last_reserved_ip.1": "fd00::a"},
			want:  found{Entries: []string{"10.0.0.2=a/eth0", "fd00::a=a/eth0"}, Last: map[int]string{1: "fd00::a"}}},
		"of every age and editor": {
			files: files{
				"10.0.0.2": "a", "10.0.0.3": "b\n", "10.0.0.4": "c\neth1", "10.0.0.5": "d\r\neth0\r\n",
				"10.0.0.6": "e\neth0\n", "10.0.0.7": "  f\r\neth0  \n\n", "10.0.0.8": "g\r\n",
				"10.0.0.9": "\r\neth0", // an id-only file of a container eth0, for host-local too
			},
			want: found{Entries: []string{
				"10.0.0.2=a/", "10.0.0.3=b/", "10.0.0.4=c/eth1", "10.0.0.5=d/eth0",
				"10.0.0.6=e/eth0", "10.0.0.7=f/eth0", "10.0.0.8=g/", "10.0.0.9=eth0/"}}},
		"with files that name nobody": {
			files: files{
				"10.0.0.2": "", "10.0.0.3": " \r\n\n", "10.0.0.4": "a\r\n..", "10.0.0.5": "\x7fELF\x02\x01\x01\x00\x00",
				"10.0.0.6": "a b\r\neth0", "10.0.0.7": "a\r\neth0\r\neth1", "10.0.0.8": "a\r\nan-ifname-of-16b", "10.0.0.9": "../a\r\neth0",
				"10.0.0.10": "a\reth0", "10.0.0.11": strings.Repeat("\x00", 20),
			},
			want: found{Aside: []string{"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.7", "10.0.0.8", "10.0.0.9", "10.0.0.10", "10.0.0.11"}}},
		"with a file torn by a power cut":         {files: files{"10.0.0.2": "a\r\n\x00\x00\x00\x00"}, want: found{Aside: []string{"10.0.0.2"}}},
		"with an ifname that is no text":          {files: files{"10.0.0.2": "a\r\n\xff\xfe"}, want: found{Aside: []string{"10.0.0.2"}}},
		"with the longest id that can be stored":  {files: files{"10.0.0.2": longID}, want: found{Entries: []string{"10.0.0.2=" + longID + "/"}}},
		"with an id that cannot be stored":        {files: files{"10.0.0.2": longID + "a"}, want: found{Aside: []string{"10.0.0.2"}}},
		"with a file of 1 MiB":                    {files: files{"10.0.0.2": strings.Repeat("a", 1<<20)}, want: found{Aside: []string{"10.0.0.2"}}},
		"with a file of 1 MiB that begins well":   {files: files{"10.0.0.2": "a\r\neth0" + strings.Repeat(" ", 1<<20)}, want: found{Aside: []string{"10.0.0.2"}}},
		"with names that host-local passes over":  {files: files{"notes.txt": "a\r\neth0", ".10.0.0.5.swp": "a", "10.0.0.5~": "a", "10.0.0.256": "a", "10.0.0": "a", "010.0.0.5": "a", "10.0.0.5 ": "a", "fd00::x": "a", "lock.bak": "a"}},
		"with another spelling of an IPv6 name":   {files: files{"FD00::A": "a\r\neth0", "fd00:0:0:0:0:0:0:b": "b\r\neth0"}, want: found{Aside: []string{"fd00::a! as FD00::A", "fd00::b! as fd00:0:0:0:0:0:0:b"}}},
		"with an IPv4-mapped name":                {files: files{"::ffff:10.0.0.5": "a\r\neth0"}, want: found{Aside: []string{"10.0.0.5! as ::ffff:10.0.0.5"}}},
		"with an IPv4-mapped name beside its own": {files: files{"::ffff:10.0.0.5": "a\r\neth0", "10.0.0.5": "b\r\neth0"}, want: found{Entries: []string{"10.0.0.5=b/eth0"}, Aside: []string{"10.0.0.5! as ::ffff:10.0.0.5"}}},
		"with a zone in a name":                   {files: files{"fe80::1%eth0": "a\r\neth0", "10.0.0.5%eth0": "b"}, want: found{Aside: []string{"fe80::1! as fe80::1%eth0"}}},
		"with things that are no files": {
			files: files{"10.0.0.9": "z\r\neth0"},
			make: map[string]func(string) error{
				"10.0.0.2":           func(p string) error { return os.Mkdir(p, 0o700) },
				"10.0.0.3":           func(p string) error { return unix.Mkfifo(p, 0o600) },
				"10.0.0.4":           func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o600, 0) },
				"10.0.0.5":           func(p string) error { return os.Symlink("10.0.0.9", p) },
				"10.0.0.6":           func(p string) error { return os.Symlink("nothing", p) },
				"fifo":               func(p string) error { return unix.Mkfifo(p, 0o600) },
				"socket":             func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o600, 0) },
				"subdirectory":       func(p string) error { return os.Mkdir(p, 0o700) },
				"last_reserved_ip.0": func(p string) error { return os.Mkdir(p, 0o700) },
				"last_reserved_ip.1": func(p string) error { return unix.Mkfifo(p, 0o600) },
				"last_reserved_ip.2": func(p string) error { return os.Symlink("10.0.0.9", p) },
			},
			want: found{Entries: []string{"10.0.0.9=z/eth0"}, Aside: []string{"10.0.0.2!", "10.0.0.3!", "10.0.0.4!", "10.0.0.5!", "10.0.0.6!"}}},
		"with a lock that is a directory": {
			make: map[string]func(string) error{lockName: func(p string) error { return os.Mkdir(p, 0o700) }}, want: found{Bare: true}},
		"with bad cursors": {
			files: files{
				"last_reserved_ip.0": "", "last_reserved_ip.1": "garbage", "last_reserved_ip.2": "10.0.0.2\n", "last_reserved_ip.3": "fe80::1%eth0",
				"last_reserved_ip.4": strings.Repeat("1", 1<<20), "last_reserved_ip.-1": "10.0.0.2", "last_reserved_ip.": "10.0.0.2",
				"last_reserved_ip.x": "10.0.0.2", "last_reserved_ip.99999999999999999999": "10.0.0.2", "last_reserved_ip": "10.0.0.2",
			}},
		"with cursors of odd but good sets": {
			files: files{"last_reserved_ip.0": "fd00::1", "last_reserved_ip.4000000": "10.0.0.2", "last_reserved_ip.1": "::ffff:10.0.0.7"},
			want:  found{Last: map[int]string{0: "fd00::1", 4000000: "10.0.0.2", 1: "10.0.0.7"}}},
		"with cursors that only look like a set's": {
			files: files{"last_reserved_ip.1": "10.0.0.2", "last_reserved_ip.+1": "10.0.0.3", "last_reserved_ip.01": "10.0.0.4", "last_reserved_ip. 1": "10.0.0.5"},
			want:  found{Last: map[int]string{1: "10.0.0.2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, c.files)
			for name, make := range c.make {
				must(t, make(d.file(name)))
			}
			before := tree(t, filepath.Dir(d.path))
			got := look(t, d)
			if diff := cmp.Diff(c.want, foundIn(t, got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := diffContents(got, look(t, d)); diff != "" {
				t.Errorf("the second time it is another:\n%s", diff)
			}
			if diff := cmp.Diff(before, tree(t, filepath.Dir(d.path))); diff != "" {
				t.Errorf("it has changed something:\n%s", diff)
			}
		})
	}
}

// diffContents compares all that two Looks tell.
func diffContents(a, b form.Contents) string {
	return cmp.Diff(a, b, cmpopts.EquateComparable(ip("::")), cmpopts.IgnoreUnexported(record.Holder{}), cmpopts.EquateEmpty())
}
