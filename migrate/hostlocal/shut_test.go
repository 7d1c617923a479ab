package hostlocal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// tombstone is what stands in the place of a directory that is shut.
func tombstoneFile(boot string) map[string]string {
	return map[string]string{"": string(encodeTombstone(tombstone(boot)))}
}

func TestShutPutsATombstoneInThePlaceOf(t *testing.T) {
	for name, c := range map[string]struct {
		make func(d *Dir) error
		left map[string]string // beside
	}{
		"nothing":                   {make: func(d *Dir) error { return os.Mkdir(filepath.Dir(d.path), 0o755) }},
		"nothing, without a parent": {make: func(*Dir) error { return nil }},
		"an empty directory":        {make: func(d *Dir) error { return os.MkdirAll(d.path, 0o755) }},
		"a lock alone":              {make: mkFiles(files{lockName: ""})},
		"a whole directory":         {make: mkFiles(with(someFiles(), "10.0.0.9", ""))},
		"an older tombstone":        {make: func(d *Dir) error { return d.Shut(tombstone(bootB)) }},
		"a tombstone of other words": {make: func(d *Dir) error {
			return d.Shut(form.Tombstone{Network: "podnet", DataDir: "/a/much/longer/data/directory/than/the/other/one", BootID: bootB})
		}},
		"the same tombstone": {make: func(d *Dir) error { return d.Shut(tombstone(bootA)) }},
		"a directory with files of others": {
			make: mkFiles(with(someFiles(), "notes.txt", "x")), left: files{"notes.txt": "x"}},
		"a directory with a subdirectory": {
			make: func(d *Dir) error {
				return errors.Join(mkFiles(someFiles())(d), os.MkdirAll(d.file("10.0.0.9/deep"), 0o755), os.Mkdir(d.file("sub"), 0o755))
			}, left: files{"10.0.0.9": "d---------", "sub": "d---------"}},
		"a directory with what host-local never makes": {
			make: func(d *Dir) error {
				return errors.Join(mkFiles(with(someFiles(), "::ffff:10.0.0.9", "x"))(d), unix.Mkfifo(d.file("10.0.0.8"), 0o600), os.Symlink("x", d.file("fd00::8")))
			}, left: files{"::ffff:10.0.0.9": "x", "10.0.0.8": "p---------", "fd00::8": "L---------"}},
	} {
		for name2, set := range fileSystems {
			t.Run(name+", "+name2, func(t *testing.T) {
				set(t)
				d := newPlace(t)
				must(t, c.make(d))
				must(t, d.Shut(tombstone(bootA)))
				if diff := diffState(state{tombstoneFile(bootA), c.left}, stateOf(t, d)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if got := look(t, d); got.Exists || got.Shut == nil || *got.Shut != tombstone(bootA) {
					t.Errorf("it is %+v", got)
				}
				before := tree(t, filepath.Dir(d.path))
				must(t, d.Shut(tombstone(bootA)))
				if diff := diffTree(before, tree(t, filepath.Dir(d.path))); diff != "" {
					t.Errorf("the second time something changes:\n%s", diff)
				}
			})
		}
	}
}

func mkFiles(f files) func(d *Dir) error {
	return func(d *Dir) error {
		err := os.MkdirAll(d.path, 0o755)
		for name, content := range f {
			err = errors.Join(err, os.WriteFile(d.file(name), []byte(content), 0o600))
		}
		return err
	}
}

func TestATombstoneIsRenewedInItsFile(t *testing.T) {
	d := newPlace(t)
	must(t, d.Shut(tombstone(bootA)))
	before, err := os.Lstat(d.path)
	must(t, err)
	must(t, d.Shut(tombstone(bootB)))
	after, err := os.Lstat(d.path)
	must(t, err)
	if !os.SameFile(before, after) || before.Size() != after.Size() {
		t.Errorf("it was %v, and is %v", before, after)
	}
}

func TestTheModeOfATombstoneUnderAnyUmask(t *testing.T) {
	for name, f := range map[string]files{"over a directory": someFiles(), "where nothing was": nil} {
		for name2, set := range fileSystems {
			t.Run(name+", "+name2, func(t *testing.T) {
				set(t)
				d := newPlace(t)
				if f != nil {
					must(t, mkFiles(f)(d))
				}
				defer unix.Umask(unix.Umask(0o077))
				must(t, d.Shut(tombstone(bootA)))
				info, err := os.Lstat(d.path)
				must(t, err)
				if info.Mode() != 0o644 {
					t.Errorf("mode %v", info.Mode())
				}
			})
		}
	}
}

// Another's file keeps host-local out as well, and is not ours to write.
func TestAnothersFileIsLeftAlone(t *testing.T) {
	for name, text := range map[string]string{"": "", "with text": "keep out\n", "of a later version": "\nbolt-local-tombstone 2\nnetwork: podnet\n"} {
		t.Run(name, func(t *testing.T) {
			d := newPlace(t)
			writeFiles(t, filepath.Dir(d.path), files{"podnet": text})
			before := tree(t, filepath.Dir(d.path))
			must(t, d.Shut(tombstone(bootA)))
			for _, open := range []func() error{
				func() error { _, err := d.Prepare(nil, nil); return err },
				d.Open,
				func() error { return d.Make(soon()) },
			} {
				if err := open(); !errors.Is(err, form.ErrCannotShut) || !strings.Contains(err.Error(), d.path+" is a file that neither host-local nor bolt-local wrote: move it away") {
					t.Errorf("err = %v", err)
				}
			}
			if diff := diffTree(before, tree(t, filepath.Dir(d.path))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatAnEarlierStepLeftBesideDoesNotKeepItFromBeingShut(t *testing.T) {
	lefts := map[string]func(d *Dir) error{
		"half a tombstone":   func(d *Dir) error { return os.WriteFile(d.beside(), encodeTombstone(tombstone(bootA))[:100], 0o644) },
		"a link":             func(d *Dir) error { return os.Symlink("podnet", d.beside()) },
		"an empty directory": func(d *Dir) error { return os.Mkdir(d.beside(), 0o755) },
		"a directory that was swapped out or prepared": func(d *Dir) error {
			return errors.Join(os.Mkdir(d.beside(), 0o755), os.WriteFile(filepath.Join(d.beside(), "10.0.0.9"), []byte("old\r\neth0"), 0o600),
				os.WriteFile(filepath.Join(d.beside(), "last_reserved_ip.0"), nil, 0o600), os.WriteFile(filepath.Join(d.beside(), lockName), nil, 0o600))
		},
	}
	for name, left := range lefts {
		for name2, place := range map[string]func(d *Dir) error{
			"over a directory":  mkFiles(someFiles()),
			"where nothing was": func(d *Dir) error { return os.MkdirAll(filepath.Dir(d.path), 0o755) },
			"over a tombstone":  func(d *Dir) error { return d.Shut(tombstone(bootB)) },
		} {
			t.Run(name+", "+name2, func(t *testing.T) {
				d := newPlace(t)
				must(t, errors.Join(place(d), left(d)))
				must(t, d.Shut(tombstone(bootA)))
				if diff := diffState(state{Place: tombstoneFile(bootA)}, stateOf(t, d)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
}

// Files of others that stayed beside when it was shut do not keep the tombstone
// from coming back where it was removed.
func TestATombstoneThatVanishedComesBackBesideFilesOfOthers(t *testing.T) {
	d := newDir(t, with(someFiles(), "notes.txt", "x"))
	must(t, d.Shut(tombstone(bootA)))
	must(t, os.Remove(d.path))
	must(t, d.Shut(tombstone(bootA)))
	if diff := diffState(state{tombstoneFile(bootA), files{"notes.txt": "x"}}, stateOf(t, d)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A second directory, while others' files of the first one wait beside.
func TestADirectoryIsNotShutOverFilesOfOthersBeside(t *testing.T) {
	d := newDir(t, someFiles())
	writeFiles(t, d.beside(), files{"notes.txt": "x"})
	before := stateOf(t, d)
	if err := d.Shut(tombstone(bootA)); !errors.Is(err, form.ErrCannotShut) || !strings.Contains(err.Error(), d.beside()+" holds files that are neither host-local's nor ours: move them away") {
		t.Errorf("err = %v", err)
	}
	if diff := diffState(before, stateOf(t, d)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAShutThatIsCutAnywhereIsDoneByTheNextCall(t *testing.T) {
	for name, c := range map[string]struct {
		make func(d *Dir) error
		left map[string]string
	}{
		"of nothing":          {func(*Dir) error { return nil }, nil},
		"of an empty one":     {func(d *Dir) error { return os.MkdirAll(d.path, 0o755) }, nil},
		"of a lock alone":     {mkFiles(files{lockName: ""}), nil},
		"of a whole one":      {mkFiles(someFiles()), nil},
		"with others' files":  {mkFiles(with(someFiles(), "notes.txt", "x")), files{"notes.txt": "x"}},
		"after one that left": {func(d *Dir) error { return errors.Join(mkFiles(someFiles())(d), os.WriteFile(d.beside(), nil, 0o644)) }, nil},
	} {
		for name2, set := range fileSystems {
			t.Run(name+", "+name2, func(t *testing.T) {
				set(t)
				setup := func(t *testing.T) *Dir {
					d := newPlace(t)
					must(t, c.make(d))
					return d
				}
				whole := setup(t)
				was := stateOf(t, whole).Place
				shut := func(_ *testing.T, d *Dir) error { return d.Shut(tombstone(bootA)) }
				cutEverywhere(t, setup, shut, func(t *testing.T, d *Dir) {
					// host-local finds either all or nothing.
					got := stateOf(t, d).Place
					if diffState(state{Place: was}, state{Place: got}) != "" && diffState(state{Place: tombstoneFile(bootA)}, state{Place: got}) != "" {
						t.Errorf("it left %q", got)
					}
					must(t, d.Shut(tombstone(bootA)))
					if diff := diffState(state{tombstoneFile(bootA), c.left}, stateOf(t, d)); diff != "" {
						t.Errorf("-want +got:\n%s", diff)
					}
				})
			})
		}
	}
}

func TestAShutThatIsNotAllowedChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		protect func(t *testing.T, d *Dir)
		want    error
	}{
		"as the parent may not be written": {func(t *testing.T, d *Dir) {
			parent := filepath.Dir(d.path)
			must(t, os.Chmod(parent, 0o555))
			t.Cleanup(func() { must(t, os.Chmod(parent, 0o755)) })
			asNobody(t, d)
		}, unix.EACCES},
		"as the file system is read-only": {func(t *testing.T, d *Dir) {
			ownMounts(t)
			readOnly(t, filepath.Dir(d.path))
		}, unix.EROFS},
	} {
		for name2, make := range map[string]func(d *Dir) error{
			"of a directory": func(d *Dir) error { return errors.Join(mkFiles(someFiles())(d), chmodAll(d)) },
			"of nothing":     func(d *Dir) error { return os.MkdirAll(filepath.Dir(d.path), 0o755) },
			"of a tombstone": func(d *Dir) error { return errors.Join(d.Shut(tombstone(bootB)), os.Chmod(d.path, 0o444)) },
		} {
			t.Run(name+", "+name2, func(t *testing.T) {
				d := newPlace(t)
				must(t, make(d))
				c.protect(t, d)
				before := tree(t, filepath.Dir(d.path))
				if err := d.Shut(tombstone(bootA)); !errors.Is(err, c.want) || !strings.Contains(err.Error(), filepath.Dir(d.path)) {
					t.Errorf("err = %v", err)
				}
				if diff := diffTree(before, tree(t, filepath.Dir(d.path))); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// chmodAll lets everybody read d's files.
func chmodAll(d *Dir) error {
	var err error
	for name := range someFiles() {
		err = errors.Join(err, os.Chmod(d.file(name), 0o644))
	}
	return err
}

func TestShutBelowAFileIsRefused(t *testing.T) {
	d := newPlace(t)
	parent := filepath.Dir(d.path)
	must(t, os.WriteFile(parent, []byte("x"), 0o600))
	if err := d.Shut(tombstone(bootA)); err == nil || !strings.Contains(err.Error(), "the parent of "+d.path+" is not a directory") {
		t.Errorf("err = %v", err)
	}
	if got := describe(t, parent); got != "x" {
		t.Errorf("it is %q", got)
	}
}

// host-local may make the directory after the lock that is not there was looked
// for, and reserve something in it.
func TestADirectoryThatWasNotLockedIsNotShut(t *testing.T) {
	d := newPlace(t)
	must(t, d.Lock(true, time.Now().Add(time.Second)))
	must(t, mkFiles(someFiles())(d))
	before := stateOf(t, d)
	if err := d.Shut(tombstone(bootA)); err == nil {
		t.Error("it was shut")
	}
	if diff := diffState(before, stateOf(t, d)); diff != "" {
		t.Errorf("it has changed (-before +now):\n%s", diff)
	}
	next := At(d.Path())
	must(t, next.Lock(true, time.Now().Add(time.Second)))
	defer next.Unlock()
	must(t, next.Shut(tombstone(bootA)))
}

// Opening a pipe waits for whoever writes to it.
func TestAPipeInTheDirectorysPlaceHangsNobody(t *testing.T) {
	d := newPlace(t)
	must(t, os.MkdirAll(filepath.Dir(d.path), 0o755))
	must(t, unix.Mkfifo(d.path, 0o600))
	if err := d.Sync(); err == nil {
		t.Error("a pipe was made durable")
	}
}
