package migration

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// found is host-local's directory as it is found on a node.
type found struct {
	files map[string]string // a name that ends in a slash is a directory's
	want  []line            // what bolt-local takes over
	// blocked are addresses that have no holder and yet are not given out;
	// after the next boot those of the second list are.
	blocked, untilBoot []string
}

func by(ip, containerID, ifname string) line {
	return line{ip, containerID, ifname, "", "host-local"}
}

// directories are as in the field reports: host-local of all ages, killed
// processes, power cuts, and people.
var directories = map[string]found{
	"of today's host-local": {
		files: map[string]string{
			"10.97.0.2": "a\r\neth0", "10.97.0.9": "b\r\nnet1", "fd00:97::5": "a\r\neth0",
			"last_reserved_ip.0": "10.97.0.9", "last_reserved_ip.1": "fd00:97::5", "lock": "",
		},
		want: []line{by("10.97.0.2", "a", "eth0"), by("10.97.0.9", "b", "net1"), by("fd00:97::5", "a", "eth0")},
	},
	"with a bare LF, as people write it": {
		files: map[string]string{"10.97.0.2": "a\neth0\n", "10.97.0.3": "b\r\neth0\r\n", "lock": ""},
		want:  []line{by("10.97.0.2", "a", "eth0"), by("10.97.0.3", "b", "eth0")},
	},
	"of an old host-local, without interfaces": {
		files: map[string]string{"10.97.0.2": "a", "10.97.0.3": "a\n", "fd00:97::5": "b", "last_reserved_ip.0": "10.97.0.3", "lock": ""},
		want:  []line{by("10.97.0.2", "a", ""), by("10.97.0.3", "a", ""), by("fd00:97::5", "b", "")},
	},
	"with files that name nobody": {
		files: map[string]string{
			"10.97.0.2": "", "10.97.0.3": "\r\n", "10.97.0.4": "\x00\x00\x00\x00", "10.97.0.5": "a\r\neth0", "10.97.0.6": "no container/id", "lock": "",
		},
		want:      []line{by("10.97.0.5", "a", "eth0")},
		blocked:   []string{"10.97.0.2", "10.97.0.3", "10.97.0.4", "10.97.0.6"},
		untilBoot: []string{"10.97.0.2", "10.97.0.3", "10.97.0.4", "10.97.0.6"},
	},
	"with junk": {
		files: map[string]string{
			"10.97.0.2": "a\r\neth0", "README": "b\r\neth0", "10.97.0.3.bak": "c\r\neth0", "10.97.0.300": "d\r\neth0", ".10.97.0.4.swp": "e", "lost+found/": "", "lock": "",
		},
		want: []line{by("10.97.0.2", "a", "eth0")},
	},
	"with directories": {
		files: map[string]string{
			"10.97.0.3/": "", "10.97.0.3/10.97.0.4": "a\r\neth0", "backup/": "", "backup/10.97.0.2": "b\r\neth0", "10.97.0.5": "c\r\neth0", "lock": "",
		},
		want:    []line{by("10.97.0.5", "c", "eth0")},
		blocked: []string{"10.97.0.3"},
	},
	"with names that host-local would not write": {
		files: map[string]string{
			"fd00:97:0::2": "a\r\neth0", "::ffff:10.97.0.2": "b\r\neth0", "10.97.0.3": "c\r\neth0", "lock": "",
		},
		want:    []line{by("10.97.0.3", "c", "eth0")},
		blocked: []string{"10.97.0.2", "fd00:97::2"},
	},
	"with a bad cursor": {
		files: map[string]string{"10.97.0.2": "a\r\neth0", "last_reserved_ip.0": "garbage", "last_reserved_ip.1": "", "last_reserved_ip.x": "10.97.0.7", "lock": ""},
		want:  []line{by("10.97.0.2", "a", "eth0")},
	},
	"with a cursor outside": {
		files: map[string]string{"10.97.0.2": "a\r\neth0", "last_reserved_ip.0": "192.0.2.7", "last_reserved_ip.1": "10.97.0.2", "lock": ""},
		want:  []line{by("10.97.0.2", "a", "eth0")},
	},
	"with addresses outside today's ranges": {
		files: map[string]string{"10.97.0.2": "a\r\neth0", "192.0.2.5": "b\r\neth0", "lock": ""},
		want:  []line{by("10.97.0.2", "a", "eth0"), by("192.0.2.5", "b", "eth0")},
	},
	"without a lock file": {
		files: map[string]string{"10.97.0.2": "a\r\neth0", "last_reserved_ip.0": "10.97.0.2"},
		want:  []line{by("10.97.0.2", "a", "eth0")},
	},
}

// make makes the directory.
func (f found) make(t *testing.T, dir string) {
	t.Helper()
	names := []string{}
	for name := range f.files {
		names = append(names, name)
	}
	slices.Sort(names) // a directory before what is in it
	err := os.MkdirAll(dir, 0o755)
	for _, name := range names {
		path := filepath.Join(dir, name)
		switch {
		case err != nil:
			t.Fatal(err)
		case name[len(name)-1] == '/':
			err = os.Mkdir(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(f.files[name]), 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tree is all of a directory but the lock file: for each path its content, inode
// and times.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir || path == filepath.Join(dir, "lock") {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		content := ""
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(data)
		}
		all[path] = fmt.Sprintf("%q, inode %d, mode %o, mtime %d, ctime %d", content, st.Ino, st.Mode, st.Mtim.Nano(), st.Ctim.Nano())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func expectTree(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := tree(t, dir)
	for path, was := range want {
		if is, there := got[path]; is != was {
			t.Errorf("%s was %s, and is %s (there: %v)", path, was, is, there)
		}
	}
	for path := range got {
		if _, was := want[path]; !was {
			t.Errorf("%s was not there before", path)
		}
	}
}

func TestDirectoriesAsFoundInTheField(t *testing.T) {
	t.Parallel()
	if !testenv.InOwnMounts(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	for name, f := range directories {
		t.Run(name, func(t *testing.T) {
			boot := testenv.FakeBoot(t)
			n := newNetwork(t, t.TempDir())
			n.subnets = []string{"10.97.0.0/24", "fd00:97::/64"}
			f.make(t, n.dir())
			before := tree(t, n.dir())

			// The first ADD fails, but for the import.
			ours := n.ours(switched)
			for range 2 { // and once more
				ours.try(t, ours.addTaken(f.want[0].addr()))
				n.expectLines(t, f.want...)
				expectTree(t, n.dir(), before)
			}
			another := n
			another.dataDir = filepath.Join(t.TempDir(), "another")
			p := another.ours(switched)
			p.try(t, p.addTaken(f.want[0].addr()))
			another.expectLines(t, f.want...)
			expectTree(t, n.dir(), before)

			n.expectNotGiven(t, f, "first", f.blocked)
			boot.Reboot(t)
			var still []string
			for _, ip := range f.blocked {
				if !slices.Contains(f.untilBoot, ip) {
					still = append(still, ip)
				}
			}
			n.expectNotGiven(t, f, "second", still)
			for _, ip := range f.untilBoot {
				call := n.ours(switched).call("ADD", "asks-for-"+ip)
				call.Args = "IP=" + ip
				n.ours(switched).run(t, call)
			}
		})
	}
}

// expectNotGiven attaches a container, and checks that it is not given one of
// the blocked addresses, not even if it asks.
func (n network) expectNotGiven(t *testing.T, f found, containerID string, blocked []string) {
	t.Helper()
	ours := n.ours(switched)
	result, err := ours.run(t, ours.call("ADD", containerID)).Result()
	if err != nil {
		return
	}
	for _, ip := range result.IPs {
		if a := ip.Address.IP.String(); slices.Contains(blocked, a) {
			t.Errorf("%s was given out", a)
		}
	}
	for _, a := range blocked {
		call := ours.call("ADD", "asks")
		call.Args = "IP=" + a
		if reply := ours.try(t, call); !reply.Failed() {
			t.Errorf("%s was given to who asked for it: %s", a, reply.Stdout)
		}
	}
}
