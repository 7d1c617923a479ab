package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/record"
)

// umask sets it, for the whole process, until the test ends.
func umask(t *testing.T, mask int) {
	t.Helper()
	before := syscall.Umask(mask)
	t.Cleanup(func() { syscall.Umask(before) })
}

// modes are those of a directory, "", and of all below it.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	got := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			got[strings.TrimPrefix(strings.TrimPrefix(path, dir), "/")] = info.Mode()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// life makes every file that there is in a data directory, ever.
func (n *node) life() {
	n.t.Helper()
	n.add("10.0.0.2", "a")
	n.commitBolt = failLastSync
	if err := n.update(opAdd, func(net *Network) error { return net.Delete(ip("10.0.0.2")) }); err == nil {
		n.t.Fatal("a commit that fails does not fail")
	}
	n.commitBolt = (*bolt.Tx).Commit
	n.update(opDel, func(*Network) error { return errTest }) // it finds the undo file
	n.add("10.0.0.3", "b")
	n.boot = "boot-002" // another journal
	n.add("10.0.0.4", "c")
	n.write(CheckpointFile, nil)
	if err := n.heal(); err != nil {
		n.t.Fatal(err)
	}
	n.suspect()
	if err := n.Defer(Deferred{Network: "podnet", Attachment: record.Attachment{ContainerID: "c", IfName: "eth0"}}); err != nil {
		n.t.Fatal(err)
	}
}

func TestWhateverTheUmaskAllFilesAreTheOwnersAlone(t *testing.T) {
	for _, mask := range []int{0, 0o077, 0o777} {
		t.Run(fmt.Sprintf("%03o", mask), func(t *testing.T) {
			n := newNode(t)
			umask(t, mask)
			seen := map[string]bool{}
			look := func(string) {
				for name, mode := range modes(t, n.dir) {
					want := fs.FileMode(0o600)
					if mode.IsDir() {
						want = 0o700 | fs.ModeDir
					}
					if mode != want {
						t.Errorf("%q has mode %v, want %v", name, mode, want)
					}
					seen[name] = true
				}
			}
			points(t, look, n.life) // what is there for a moment, too
			look("")
			for _, name := range append([]string{"", newCheckpointFile}, ours...) {
				if !seen[name] {
					t.Errorf("%q was never there", name)
				}
			}
			// Whatever else there is has no fixed name, or is made anew each time.
			for name := range seen {
				if name != "" && !slices.Contains(ours, name) && name != newCheckpointFile &&
					!strings.HasPrefix(name, CheckpointFile+".") && !strings.HasPrefix(name, DeferredDir+"/") {
					t.Errorf("%q is not among those whose owner is asked for", name)
				}
			}
		})
	}
}

// mayNeed makes the file with this name where there is none yet.
func (n *node) mayNeed(name string) {
	n.t.Helper()
	if !exists(n.file(name)) {
		n.write(name, []byte("\n"))
	}
}

func TestAModeThatIsTooOpenIsMendedAndToldOnce(t *testing.T) {
	for name, c := range map[string]struct {
		file string // "" is the directory
		mode fs.FileMode
		want fs.FileMode
	}{
		"the directory, open to all":        {"", 0o777, 0o700},
		"the directory, as mkdir leaves it": {"", 0o755, 0o700},
		"the directory, open to the group":  {"", 0o710, 0o700},
		"the checkpoint":                    {CheckpointFile, 0o644, 0o600},
		"the checkpoint, open to the group": {CheckpointFile, 0o660, 0o600},
		"the lock":                          {LockFile, 0o666, 0o600},
		"the lock, of a killed maker":       {LockFile, 0, 0o600},
		"the journal":                       {JournalFile, 0o604, 0o600},
		"the undo file":                     {UndoFile, 0o640, 0o600},
		"the mark of a call that was stuck": {suspectFile, 0o666, 0o600},
		"the deferred DELs":                 {DeferredDir, 0o755, 0o700},
	} {
		for verb, call := range map[string]func(n *node){
			"ADD":      func(n *node) { n.add("10.0.0.9", "z") },
			"DEL":      func(n *node) { n.del("10.0.0.2") },
			"operator": func(n *node) { _ = n.update(opTool, func(*Network) error { return errTest }) },
		} {
			t.Run(name+", "+verb, func(t *testing.T) {
				n := newNodeWith(t, 2)
				n.mayNeed(c.file)
				path := filepath.Join(n.dir, c.file)
				if err := os.Chmod(path, c.mode); err != nil {
					t.Fatal(err)
				}
				if c.mode != 0 { // who reads may not be allowed to, and changes nothing
					n.held()
					if mode := modes(t, n.dir)[c.file].Perm(); mode != c.mode || len(n.warn) > 0 {
						t.Errorf("after reading its mode is %04o, told %q", mode, n.warn)
					}
				}
				call(n)
				// What is for the next call alone has gone.
				passing := c.file == UndoFile || c.file == suspectFile
				if info, err := os.Stat(path); !passing && err != nil || err == nil && info.Mode().Perm() != c.want {
					t.Errorf("it has %v, %v, want mode %04o", info, err, c.want)
				}
				call(n)
				told := fmt.Sprintf("%s had mode %04o and has %04o now", path, c.mode, c.want)
				if all := strings.Join(n.warn, "\n"); strings.Count(all, "had mode") != 1 || !strings.Contains(all, told) {
					t.Errorf("told %q, want once %q", all, told)
				}
			})
		}
	}
}

// /proc refuses a change of mode even to root.
func TestWhereNoModeCanBeSetNothingFails(t *testing.T) {
	if err := os.Chmod("/proc/self/status", 0o600); err == nil {
		t.Skip("/proc takes a mode")
	}
	if err := setMode("/proc/self/status", 0o600); err != nil {
		t.Error(err)
	}
	if err := setMode(filepath.Join(t.TempDir(), "gone"), 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a file that is not there: %v", err)
	}
}

func TestADirectoryThatOthersNeedKeepsItsMode(t *testing.T) {
	for name, c := range map[string]struct {
		make func(dir string) error
		want fs.FileMode
	}{
		"host-local's networks": {func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/podnet", 0o755), os.WriteFile(dir+"/podnet/lock", nil, 0o640), os.Mkdir(dir+"/new", 0o755),
				os.WriteFile(dir+"/shut", []byte("a tombstone"), 0o644))
		}, 0o700},
		"a package's directory": {func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/dpkg", 0o755), os.WriteFile(dir+"/dpkg/status", nil, 0o644))
		}, 0o755},
		"a socket": {func(dir string) error { return syscall.Mknod(dir+"/dbus", syscall.S_IFSOCK|0o666, 0) }, 0o755},
		"a link":   {func(dir string) error { return os.Symlink("/tmp", dir+"/run") }, 0o755},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			if err := errors.Join(os.Mkdir(n.dir, 0o755), c.make(n.dir)); err != nil {
				t.Fatal(err)
			}
			n.add("10.0.0.2", "a")
			got := modes(t, n.dir)
			if got[""].Perm() != c.want || got[CheckpointFile] != 0o600 || got[JournalFile] != 0o600 {
				t.Errorf("modes %v, want %04o", got, c.want)
			}
			if len(n.warn) != 1 || !strings.Contains(n.warn[0], n.dir) || strings.Contains(n.warn[0], "keeps it") != (c.want == 0o755) {
				t.Errorf("told %q", n.warn)
			}
		})
	}
}
