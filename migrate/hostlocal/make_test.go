package hostlocal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/filelock"
)

func TestMakeMakesTheDirectoryAndLocksIt(t *testing.T) {
	for name, c := range map[string]struct {
		make func(d *Dir) error
		want files
	}{
		"from nothing":               {func(d *Dir) error { return os.Mkdir(filepath.Dir(d.path), 0o755) }, files{lockName: ""}},
		"from nothing, three levels": {func(*Dir) error { return nil }, files{lockName: ""}},
		"from an empty one":          {mkFiles(nil), files{lockName: ""}},
		"from a whole one":           {mkFiles(someFiles()), someFiles()},
		"from a tombstone":           {func(d *Dir) error { return d.Shut(tombstone(bootA)) }, files{lockName: ""}},
		"from a tombstone, with others' files": {func(d *Dir) error {
			return errors.Join(mkFiles(with(someFiles(), "notes.txt", "x"))(d), d.Shut(tombstone(bootA)))
		}, files{lockName: "", "notes.txt": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := At(filepath.Join(newPlace(t).path, "below", "podnet"))
			if !strings.Contains(name, "three levels") {
				d = newPlace(t)
			}
			must(t, c.make(d))
			must(t, d.Lock(true, soon())) // as the engine does before it looks
			must(t, d.Make(soon()))
			if isFree(t, d.file(lockName)) {
				t.Error("it is not locked")
			}
			if diff := diffState(state{Place: c.want}, stateOf(t, d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			must(t, d.Make(soon())) // what is there is locked anew
			if isFree(t, d.file(lockName)) {
				t.Error("it is not locked after the second time")
			}
			d.Unlock()
			if !isFree(t, d.file(lockName)) {
				t.Error("it is still locked")
			}
		})
	}
}

// host-local that runs this very moment must not find an empty directory.
func TestADirectoryInPlaceOfATombstoneIsLockedFromTheFirst(t *testing.T) {
	d := newPlace(t)
	must(t, d.Shut(tombstone(bootA)))
	once(t, "hostlocal.opened", func() {
		if isFree(t, d.file(lockName)) {
			t.Error("it is there and not locked")
		}
	})
	must(t, d.Make(soon()))
	d.Unlock()
}

func TestMakeGivesUpWhereTheLockIsHeld(t *testing.T) {
	d := newDir(t, someFiles())
	fd := hostLocalsLock(t, d.file(lockName))
	must(t, unix.Flock(fd, unix.LOCK_EX))
	if err := d.Make(time.Now().Add(-time.Second)); !errors.Is(err, filelock.ErrLocked) {
		t.Errorf("err = %v", err)
	}
}

func TestWhatCannotBeMadeIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		make func(d *Dir) error
		want string
	}{
		"below a file": {func(d *Dir) error { return os.WriteFile(filepath.Dir(d.path), nil, 0o600) }, "is not a directory"},
		"in place of a pipe": {func(d *Dir) error {
			return errors.Join(os.Mkdir(filepath.Dir(d.path), 0o755), unix.Mkfifo(d.path, 0o600))
		}, "is neither a directory nor a regular file"},
		"in place of a link": {func(d *Dir) error { return errors.Join(os.Mkdir(filepath.Dir(d.path), 0o755), os.Symlink("x", d.path)) }, "is a symbolic link"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newPlace(t)
			must(t, c.make(d))
			root := filepath.Dir(filepath.Dir(d.path))
			before := tree(t, root)
			if err := d.Make(soon()); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), d.path) {
				t.Errorf("err = %v", err)
			}
			if diff := diffTree(before, tree(t, root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A kill between the steps leaves what the next call makes whole.
func TestAMakeThatIsCutAnywhereIsDoneByTheNextCall(t *testing.T) {
	setup := func(t *testing.T) *Dir {
		d := newPlace(t)
		must(t, d.Shut(tombstone(bootA)))
		return d
	}
	cutEverywhere(t, setup, func(_ *testing.T, d *Dir) error { return At(d.path).Make(soon()) }, func(t *testing.T, d *Dir) {
		if c := look(t, d); c.Exists {
			return // open, and locked by who was cut
		}
		must(t, d.Make(soon()))
		d.Unlock()
		if diff := diffState(state{Place: files{lockName: ""}}, stateOf(t, d)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
