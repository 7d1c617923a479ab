package hostlocal

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// mixedChanges are of every kind, on undoFiles.
func mixedChanges(t *testing.T, c form.Contents) []form.Change {
	return []form.Change{
		del(t, c, "10.0.0.3"), over(t, c, "10.0.0.2", "c"), add("10.0.0.4", "d"),
		over(t, c, "10.0.0.7", "e"), add("fd00::4", "d"), del(t, c, "10.0.0.6"),
	}
}

// mixedDone is what undoFiles are after mixedChanges.
func mixedDone() files {
	return files{
		"10.0.0.2": "c\r\neth0", "10.0.0.4": "d\r\neth0", "10.0.0.7": "e\r\neth0", "fd00::4": "d\r\neth0",
		"last_reserved_ip.0": "10.0.0.3", lockName: "",
	}
}

// host-local takes every file in its directory for a reservation, and a name
// that is missing for free.
func TestNoOtherNameIsEverInTheDirectory(t *testing.T) {
	for name, set := range fileSystems {
		t.Run(name, func(t *testing.T) {
			set(t)
			d := newDir(t, undoFiles())
			changes := mixedChanges(t, look(t, d))
			was, will := undoFiles(), mixedDone()
			var passed []string
			hook(t, func(point string) {
				passed = append(passed, point)
				there := listing(t, d.path)
				for name, content := range there {
					if before, ok := was[name]; ok && content == before {
						continue
					}
					if after, ok := will[name]; !ok || content != after {
						t.Errorf("at %s there is %s with %q", point, name, content)
					}
				}
				for name := range was {
					if _, kept := will[name]; kept && !contains(there, name) {
						t.Errorf("at %s there is no %s", point, name)
					}
				}
			})
			_, err := d.Apply(changes)
			must(t, err)
			for _, point := range []string{"written", "created", "replaced", "unlinked", "before-sync", "after-sync"} {
				if !slices.Contains(passed, "hostlocal."+point) {
					t.Errorf("it has not passed %s", point)
				}
			}
			if diff := diffState(state{Place: will}, stateOf(t, d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func contains(m map[string]string, name string) bool {
	_, ok := m[name]
	return ok
}

// Wherever a call is killed, the directory has whole files alone, and the next
// call ends what it had begun.
func TestChangesCutAnywhereAreDoneByTheNextCall(t *testing.T) {
	for name, set := range fileSystems {
		t.Run(name, func(t *testing.T) {
			set(t)
			setup := func(t *testing.T) *Dir { return newDir(t, undoFiles()) }
			apply := func(t *testing.T, d *Dir) error {
				_, err := d.Apply(mixedChanges(t, look(t, d)))
				return err
			}
			cutEverywhere(t, setup, apply, func(t *testing.T, d *Dir) {
				was, will := undoFiles(), mixedDone()
				for name, content := range listing(t, d.path) {
					if content != was[name] && content != will[name] || !contains(was, name) && !contains(will, name) {
						t.Errorf("it left %s with %q", name, content)
					}
				}
				c := look(t, d)
				var rest []form.Change
				for _, name := range slices.Sorted(maps.Keys(mixedDone())) {
					if name == lockName || name == "last_reserved_ip.0" {
						continue
					}
					id := will[name][:1]
					if e, ok := c.At(ip(name)); ok && e.Holder.ContainerID == id {
						continue
					} else if ok || slices.Contains(asideNames(c), name) {
						rest = append(rest, over(t, c, name, id))
					} else {
						rest = append(rest, add(name, id))
					}
				}
				for name := range was {
					if _, ok := will[name]; !ok && contains(listing(t, d.path), name) {
						rest = append(rest, del(t, c, name))
					}
				}
				marks, err := d.Apply(rest)
				must(t, err)
				if diff := diffState(state{Place: will}, stateOf(t, d)); diff != "" && len(rest) > 0 {
					t.Errorf("-want +got:\n%s", diff)
				}
				if after := c.After(rest, marks); len(rest) > 0 && after.Stamp() != look(t, d).Stamp() {
					t.Error("a new look has another stamp")
				}
			})
		})
	}
}

func asideNames(c form.Contents) []string {
	var names []string
	for _, a := range c.SetAside {
		names = append(names, a.Addr.String())
	}
	return names
}

// What an earlier step was cut at does not keep a file from being replaced.
func TestWhatIsLeftBesideDoesNotKeepAFileFromBeingReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		make func(d *Dir) error
		left map[string]string
	}{
		"a tombstone":        {func(d *Dir) error { return os.WriteFile(d.beside(), encodeTombstone(tombstone(bootA)), 0o644) }, nil},
		"half a reservation": {func(d *Dir) error { return os.WriteFile(d.beside(), []byte("c\r"), 0o600) }, nil},
		"a link":             {func(d *Dir) error { return os.Symlink("podnet/10.0.0.3", d.beside()) }, nil},
		"an empty directory": {func(d *Dir) error { return os.Mkdir(d.beside(), 0o755) }, nil},
		"host-local's directory of before the swap": {func(d *Dir) error {
			return errors.Join(os.Mkdir(d.beside(), 0o755), os.WriteFile(filepath.Join(d.beside(), "10.0.0.2"), []byte("old\r\neth0"), 0o600),
				os.WriteFile(filepath.Join(d.beside(), lockName), nil, 0o600))
		}, nil},
		"files of others": {func(d *Dir) error {
			return errors.Join(os.Mkdir(d.beside(), 0o755), os.WriteFile(filepath.Join(d.beside(), "notes.txt"), []byte("x"), 0o600))
		}, map[string]string{"notes.txt": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, undoFiles())
			must(t, c.make(d))
			before := look(t, d)
			changes := mixedChanges(t, before)
			marks, err := d.Apply(changes)
			must(t, err)
			if diff := diffState(state{mixedDone(), c.left}, stateOf(t, d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if before.After(changes, marks).Stamp() != look(t, d).Stamp() {
				t.Error("a new look has another stamp")
			}
		})
	}
}

// Without unnamed files the name beside is the only way, and whose files are in
// it is said.
func TestFilesOfOthersBesideAreNamedWhereTheyAreInTheWay(t *testing.T) {
	withoutUnnamed(t)
	d := newDir(t, undoFiles())
	writeFiles(t, d.beside(), files{"notes.txt": "x"})
	before := tree(t, filepath.Dir(d.path))
	if _, err := d.Apply([]form.Change{add("10.0.0.4", "c")}); !errors.Is(err, form.ErrCannotShut) {
		t.Errorf("err = %v", err)
	}
	if diff := diffTree(before, tree(t, filepath.Dir(d.path))); diff != "" {
		t.Error(diff)
	}
}

// The directory may be a file system of its own, from which no name leads out.
func TestAMountPointIsWritten(t *testing.T) {
	d := newDir(t, nil)
	ownMounts(t)
	mount(t, "tmpfs", d.path, "tmpfs", 0, "size=1m")
	writeFiles(t, d.path, undoFiles())
	before := look(t, d)
	changes := mixedChanges(t, before)
	marks, err := d.Apply(changes)
	must(t, err)
	if diff := diffState(state{Place: mixedDone()}, stateOf(t, d)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if before.After(changes, marks).Stamp() != look(t, d).Stamp() {
		t.Error("a new look has another stamp")
	}
}

// There the name is free for a moment. What was there comes back where the new
// file cannot have it, unless somebody else has taken it meanwhile.
func TestAReplacementThatFailsInAMountPointIsTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(t *testing.T, d *Dir)
		want  files
	}{
		"as the file is lost": {closeUnnamed, undoFiles()},
		"as it is taken": {
			func(t *testing.T, d *Dir) { writeFiles(t, d.path, files{"10.0.0.2": "theirs\r\neth0"}) },
			with(undoFiles(), "10.0.0.2", "theirs\r\neth0")},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, nil)
			ownMounts(t)
			mount(t, "tmpfs", d.path, "tmpfs", 0, "size=1m")
			writeFiles(t, d.path, undoFiles())
			changes := []form.Change{add("10.0.0.4", "c"), over(t, look(t, d), "10.0.0.2", "c")}
			once(t, "hostlocal.name-free", func() { c.fault(t, d) })
			if _, err := d.Apply(changes); err == nil || !strings.Contains(err.Error(), d.file("10.0.0.2")) {
				t.Errorf("err = %v", err)
			}
			if diff := diffState(state{Place: c.want}, stateOf(t, d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// closeUnnamed closes the file without a name that this process has open in d.
func closeUnnamed(t *testing.T, d *Dir) {
	fds, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, fd := range fds {
		to, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err != nil || !strings.HasPrefix(to, d.path+"/") || !strings.HasSuffix(to, " (deleted)") {
			continue
		}
		n, err := strconv.Atoi(fd.Name())
		must(t, err)
		must(t, unix.Close(n))
		return
	}
	t.Errorf("no file without a name is open in %s", d.path)
}
