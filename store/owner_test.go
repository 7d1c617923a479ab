package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// another is a user that does not run the tests.
var another = os.Geteuid() + 1

// state is all that a write would change below a directory.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for name := range modes(t, dir) {
		var st syscall.Stat_t
		if err := syscall.Lstat(filepath.Join(dir, name), &st); err != nil {
			t.Fatal(err)
		}
		got[name] = fmt.Sprintf("inode %d mode %o owner %d size %d written %v changed %v", st.Ino, st.Mode, st.Uid, st.Size, st.Mtim, st.Ctim)
	}
	return got
}

// tampers are ways to put something in the place of a file that is not ours.
var tampers = map[string]struct {
	make func(path string) error
	want string // behind the path
}{
	"a link": {
		func(path string) error {
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(filepath.Base(path)+".real", path))
		},
		fmt.Sprintf("is a symbolic link of uid %d, which is not followed: put what it leads to in its place", os.Geteuid()),
	},
	"another user's": {
		func(path string) error { return os.Lchown(path, another, -1) },
		fmt.Sprintf("belongs to uid %d, and bolt-local runs as uid %d: run it as uid %d, or `chown %d ", another, os.Geteuid(), another, os.Geteuid()),
	},
	"another user's link": {
		func(path string) error {
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(filepath.Base(path)+".real", path), os.Lchown(path, another, -1))
		},
		fmt.Sprintf("is a symbolic link of uid %d", another),
	},
}

// tampered is a node with two allocations and that in the place of file, "" for
// the directory.
func tampered(t *testing.T, file string, tamper func(path string) error) *node {
	t.Helper()
	n := newNodeWith(t, 2)
	n.mayNeed(file)
	if err := tamper(filepath.Join(n.dir, file)); errors.Is(err, syscall.EPERM) {
		t.Skip("giving a file away takes root")
	} else if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWhatIsNotOursIsRefusedBeforeAByteIsWritten(t *testing.T) {
	for _, file := range append([]string{""}, ours...) {
		for name, c := range tampers {
			t.Run(fmt.Sprintf("%q is %s", file, name), func(t *testing.T) {
				n := tampered(t, file, c.make)
				before := state(t, filepath.Dir(n.dir))
				del := func(net *Network) error { return net.Delete(ip(addrAt(0))) }
				for verb, call := range map[string]func() error{
					"ADD":     func() error { return n.update(opAdd, del) },
					"DEL":     func() error { return n.update(opDel, del) },
					"release": func() error { return n.update(opTool, del) },
					"Heal":    n.heal,
				} {
					err := call()
					if want := filepath.Join(n.dir, file) + " " + c.want; err == nil || verb == "ADD" && !strings.Contains(err.Error(), want) {
						t.Errorf("%s: err = %v, want %q", verb, err, want)
					}
					if errors.Is(err, ErrDamaged) && file != CheckpointFile {
						t.Errorf("%s: it counts as damage: %v", verb, err)
					}
				}
				if diff := cmp.Diff(before, state(t, filepath.Dir(n.dir))); diff != "" {
					t.Errorf("it was written (-before +after):\n%s", diff)
				}
				if len(n.warn) > 0 {
					t.Errorf("told %q", n.warn)
				}
			})
		}
	}
}

func TestWhatIsNotOursIsReadAllTheSame(t *testing.T) {
	for _, c := range []struct{ file, tamper string }{
		{"", "a link"}, {"", "another user's"}, {CheckpointFile, "another user's"}, {LockFile, "another user's"}, {JournalFile, "another user's"},
	} {
		t.Run(fmt.Sprintf("%q is %s", c.file, c.tamper), func(t *testing.T) {
			n := tampered(t, c.file, tampers[c.tamper].make)
			if os.Geteuid() != 0 && c.tamper == "another user's" {
				t.Skip("only root reads what is another's")
			}
			if got := n.held(); len(got) != 2 {
				t.Errorf("held = %v", got)
			}
			if err := n.update(opDel, func(*Network) error { return nil }); err != nil {
				t.Errorf("DEL of what is not held: %v", err)
			}
		})
	}
}

func TestALinkToNothingIsNotMadeADirectory(t *testing.T) {
	n := newNode(t)
	if err := os.Symlink("elsewhere", n.dir); err != nil {
		t.Fatal(err)
	}
	err := n.update(opAdd, func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.2", "a")) })
	if err == nil || !strings.Contains(err.Error(), n.dir+" is a symbolic link") {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(n.dir), "elsewhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("where it leads: %v", err)
	}
}

// A checkpoint that is replaced has two names for a moment, and for longer where
// the replacing call was killed.
func TestASecondHardLinkIsNoReason(t *testing.T) {
	n := newNodeWith(t, 2)
	for _, file := range []string{CheckpointFile, LockFile, JournalFile} {
		if err := os.Link(n.file(file), n.file(CheckpointFile+".damaged-"+file)); err != nil {
			t.Fatal(err)
		}
	}
	n.add("10.0.0.9", "z")
	if got := n.held(); len(got) != 3 || len(n.warn) > 0 {
		t.Errorf("held %v, told %q", got, n.warn)
	}
}

func TestAParentThatEverybodyMayWriteToIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		parent, grandparent fs.FileMode
		told                string // the path that is named, below the top
	}{
		"as usual":                     {0o755, 0o755, ""},
		"open to the group":            {0o775, 0o755, ""},
		"with the sticky bit":          {0o777 | fs.ModeSticky, 0o755, ""},
		"open to all":                  {0o777, 0o755, "a/b"},
		"further up":                   {0o755, 0o777, "a"},
		"further up, and sticky below": {0o777 | fs.ModeSticky, 0o777, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			n := newNodeIn(t, filepath.Join(top, "a", "b", "data"))
			err := errors.Join(os.MkdirAll(filepath.Dir(n.dir), 0o755), os.Chmod(top+"/a", c.grandparent), os.Chmod(top+"/a/b", c.parent))
			if err != nil {
				t.Fatal(err)
			}
			n.add("10.0.0.2", "a")
			if got := modes(t, top); got["a"].Perm() != c.grandparent.Perm() || got["a/b"].Perm() != c.parent.Perm() {
				t.Errorf("it was changed: %v", got)
			}
			want := fmt.Sprintf("everybody may write to %s,", filepath.Join(top, c.told))
			if c.told == "" && len(n.warn) > 0 || c.told != "" && (len(n.warn) != 1 || !strings.Contains(n.warn[0], want)) {
				t.Errorf("told %q, want %q", n.warn, want)
			}
			n.warn = nil
			if n.held(); len(n.warn) > 0 {
				t.Errorf("reading has told %q", n.warn)
			}
		})
	}
}

func TestWhatRootHasMadeIsNotToBeGivenAway(t *testing.T) {
	for owner, want := range map[int]string{
		0:    "/d belongs to uid 0, and bolt-local runs as uid 65534: run it as root",
		1000: "/d belongs to uid 1000, and bolt-local runs as uid 65534: run it as uid 1000, or `chown 65534 /d` once you know who made it",
	} {
		if got := anothers("/d", owner, 65534).Error(); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
}
