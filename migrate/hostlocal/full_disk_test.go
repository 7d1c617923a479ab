package hostlocal

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// fullDisk is a file system of 16 pages on which d has these files, and n pages
// are free.
func fullDisk(t *testing.T, f files, n int) *Dir {
	t.Helper()
	d := newPlace(t)
	parent := filepath.Dir(d.path)
	must(t, os.Mkdir(parent, 0o755))
	ownMounts(t)
	mount(t, "tmpfs", parent, "tmpfs", 0, fmt.Sprintf("size=%d", 16*os.Getpagesize()))
	writeFiles(t, d.path, f)
	must(t, os.Mkdir(filepath.Join(parent, "other"), 0o755))
	for i := 0; freePages(t, parent) > n; i++ {
		name := filepath.Join(parent, "other", strconv.Itoa(i))
		must(t, os.WriteFile(name, []byte("x"), 0o600))
	}
	return d
}

func freePages(t *testing.T, path string) int {
	t.Helper()
	var st unix.Statfs_t
	must(t, unix.Statfs(path, &st))
	return int(st.Bavail)
}

func TestChangesAreTakenBackWhereTheDiskIsFull(t *testing.T) {
	mixed := func(t *testing.T, c form.Contents) []form.Change {
		return []form.Change{add("10.0.0.4", "c"), add("10.0.0.5", "c"), over(t, c, "10.0.0.2", "c"), del(t, c, "10.0.0.3")}
	}
	for name, c := range map[string]struct {
		changes changer
		free    int
	}{
		"at once":                  {mixed, 0},
		"for the second new one":   {mixed, 1},
		"for the replacement":      {mixed, 2},
		"for a replacement, alone": {func(t *testing.T, c form.Contents) []form.Change { return []form.Change{over(t, c, "10.0.0.2", "c")} }, 0},
	} {
		for name2, set := range fileSystems {
			t.Run(name+", "+name2, func(t *testing.T) {
				set(t)
				d := fullDisk(t, undoFiles(), c.free)
				if _, err := d.Apply(c.changes(t, look(t, d))); !errors.Is(err, unix.ENOSPC) {
					t.Errorf("err = %v", err)
				}
				if diff := diffState(state{Place: undoFiles()}, stateOf(t, d)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if got := freePages(t, d.path); got != c.free {
					t.Errorf("%d pages are free, of %d", got, c.free)
				}
			})
		}
	}
}

func TestAFullDiskLetsGo(t *testing.T) {
	d := fullDisk(t, undoFiles(), 0)
	c := look(t, d)
	if _, err := d.Apply([]form.Change{del(t, c, "10.0.0.2"), del(t, c, "10.0.0.7")}); err != nil {
		t.Fatal(err)
	}
	want := undoFiles()
	delete(want, "10.0.0.2")
	delete(want, "10.0.0.7")
	if diff := diffState(state{Place: want}, stateOf(t, d)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAFullDiskDoesNotShut(t *testing.T) {
	for name, f := range map[string]files{"a directory": someFiles(), "nothing": nil} {
		t.Run(name, func(t *testing.T) {
			d := fullDisk(t, f, 0)
			if f == nil {
				must(t, os.Remove(d.path))
			}
			before := stateOf(t, d)
			if err := d.Shut(tombstone(bootA)); !errors.Is(err, unix.ENOSPC) {
				t.Errorf("err = %v", err)
			}
			if diff := diffState(before, stateOf(t, d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A tombstone is renewed in place, for which a full disk has room.
func TestAFullDiskRenewsATombstone(t *testing.T) {
	d := fullDisk(t, nil, 2)
	must(t, os.Remove(d.path))
	must(t, d.Shut(tombstone(bootA)))
	must(t, os.WriteFile(filepath.Join(filepath.Dir(d.path), "filler"), []byte("x"), 0o600))
	if free := freePages(t, filepath.Dir(d.path)); free != 0 {
		t.Fatalf("%d pages are free", free)
	}
	must(t, d.Shut(tombstone(bootB)))
	if c := look(t, d); c.Shut == nil || *c.Shut != tombstone(bootB) {
		t.Errorf("it is %+v", c)
	}
}

// What was prepared in part is cleared away: it takes the room that is missing.
func TestAFullDiskDoesNotPrepare(t *testing.T) {
	d := fullDisk(t, nil, 3)
	must(t, os.Remove(d.path))
	must(t, d.Shut(tombstone(bootA)))
	before, free := stateOf(t, d), freePages(t, filepath.Dir(d.path))
	entries := []form.Entry{entry("10.0.0.2", "a", "eth0"), entry("10.0.0.3", "a", "eth0"), entry("10.0.0.4", "b", "eth0"), entry("10.0.0.5", "c", "eth0")}
	if _, err := d.Prepare(entries, nil); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("err = %v", err)
	}
	if diff := diffState(before, stateOf(t, d)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := freePages(t, filepath.Dir(d.path)); got != free {
		t.Errorf("%d pages are free, of %d", got, free)
	}
}

// A cursor is a hint: a directory is made ready without.
func TestAFullDiskPreparesWithoutCursors(t *testing.T) {
	d := fullDisk(t, nil, 2)
	must(t, os.Remove(d.path))
	must(t, d.Shut(tombstone(bootA)))
	if _, err := d.Prepare([]form.Entry{entry("10.0.0.2", "a", "eth0")}, map[int]netip.Addr{0: ip("10.0.0.2")}); err != nil {
		t.Fatal(err)
	}
	must(t, d.Open())
	if c := look(t, d); len(c.Entries) != 1 || len(c.Last) != 0 {
		t.Errorf("it has %+v", c)
	}
}
