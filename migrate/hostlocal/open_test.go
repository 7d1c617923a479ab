package hostlocal

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// prepared are the entries that the tests prepare, and preparedFiles what they
// become.
func prepared() []form.Entry {
	return []form.Entry{entry("10.0.0.2", "a", "eth0"), entry("10.0.0.7", "b", ""), entry("fd00::2", "a", "eth0")}
}

var preparedLast = map[int]netip.Addr{0: ip("10.0.0.7"), 1: ip("fd00::2")}

func preparedFiles() files {
	return files{
		"10.0.0.2": "a\r\neth0", "10.0.0.7": "b", "fd00::2": "a\r\neth0", lockName: "",
		"last_reserved_ip.0": "10.0.0.7", "last_reserved_ip.1": "fd00::2",
	}
}

// reopen prepares and opens.
func reopen(d *Dir) (form.Contents, error) {
	c, err := d.Prepare(prepared(), preparedLast)
	if err != nil {
		return c, err
	}
	return c, d.Open()
}

func TestADirectoryIsOpenedWhole(t *testing.T) {
	left := func(f files) func(d *Dir) error {
		return func(d *Dir) error {
			err := errors.Join(d.Shut(tombstone(bootA)), os.Mkdir(d.beside(), 0o755))
			for name, content := range f {
				err = errors.Join(err, os.WriteFile(filepath.Join(d.beside(), name), []byte(content), 0o600))
			}
			return err
		}
	}
	for name, c := range map[string]struct {
		make func(d *Dir) error
		more files // of others
	}{
		"in place of a tombstone": {make: func(d *Dir) error { return d.Shut(tombstone(bootA)) }},
		"where nothing is":        {make: func(d *Dir) error { return os.Mkdir(filepath.Dir(d.path), 0o755) }},
		"where no parent is":      {make: func(*Dir) error { return nil }},
		"after it was shut":       {make: func(d *Dir) error { return errors.Join(mkFiles(someFiles())(d), d.Shut(tombstone(bootA))) }},
		"with the files of others": {make: func(d *Dir) error {
			return errors.Join(mkFiles(with(someFiles(), "notes.txt", "x"))(d), d.Shut(tombstone(bootA)))
		}, more: files{"notes.txt": "x"}},
		"beside half of it":      {make: left(files{"10.0.0.2": "a\r", "10.0.0.3": "", lockName: ""})},
		"beside an older one":    {make: left(with(with(someFiles(), "10.0.0.2", "old\r\neth0"), "last_reserved_ip.7", "x"))},
		"beside files of others": {make: left(files{"10.0.0.2": "a", "::ffff:10.0.0.2": "y"}), more: files{"::ffff:10.0.0.2": "y"}},
		"beside half a reservation": {make: func(d *Dir) error {
			return errors.Join(d.Shut(tombstone(bootA)), os.WriteFile(d.beside(), []byte("a\r"), 0o600))
		}},
		"beside a link": {make: func(d *Dir) error { return errors.Join(d.Shut(tombstone(bootA)), os.Symlink("elsewhere", d.beside())) }},
		"with others' directories": {
			make: func(d *Dir) error {
				return errors.Join(mkFiles(someFiles())(d), os.MkdirAll(d.file("sub/deep"), 0o755), os.MkdirAll(d.file("10.0.0.9/deep"), 0o755),
					unix.Mkfifo(d.file("last_reserved_ip.1"), 0o600), d.Shut(tombstone(bootA)))
			}, more: files{"sub": "d---------", "10.0.0.9": "d---------", "last_reserved_ip.1": "p---------"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newPlace(t)
			must(t, c.make(d))
			want := preparedFiles()
			for name, content := range c.more {
				want[name] = content
			}
			before := stateOf(t, d).Place
			told, err := d.Prepare(prepared(), preparedLast)
			must(t, err)
			if diff := diffState(state{before, want}, stateOf(t, d)); diff != "" {
				t.Errorf("prepared: -want +got:\n%s", diff)
			}
			must(t, d.Open())
			if diff := diffState(state{Place: want}, stateOf(t, d)); diff != "" {
				t.Errorf("open: -want +got:\n%s", diff)
			}
			if diff := diffContents(told, look(t, d)); diff != "" {
				t.Errorf("what Prepare told is another than what a look tells:\n%s", diff)
			}
		})
	}
}

func TestTheModesOfADirectoryThatWasMadeReady(t *testing.T) {
	for name, c := range map[string]struct {
		umask int
		dir   os.FileMode // host-local, too, makes its directory under the umask
	}{"under host-local's umask": {0o022, 0o755}, "under a strict one": {0o077, 0o700}, "under none": {0, 0o755}} {
		t.Run(name, func(t *testing.T) {
			d := newPlace(t)
			must(t, d.Shut(tombstone(bootA)))
			defer unix.Umask(unix.Umask(c.umask))
			_, err := reopen(d)
			must(t, err)
			for path, want := range map[string]os.FileMode{
				d.path: os.ModeDir | c.dir, d.file("10.0.0.2"): 0o600, d.file(lockName): 0o750, d.file("last_reserved_ip.0"): 0o600,
			} {
				info, err := os.Lstat(path)
				must(t, err)
				if info.Mode() != want {
					t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
				}
			}
		})
	}
}

func TestAnOpeningThatIsCutAnywhereIsDoneByTheNextCall(t *testing.T) {
	for name, c := range map[string]struct {
		make func(d *Dir) error
		more files
	}{
		"in place of a tombstone": {make: func(d *Dir) error { return d.Shut(tombstone(bootA)) }},
		"where nothing is":        {make: func(*Dir) error { return nil }},
		"with the files of others": {func(d *Dir) error {
			return errors.Join(mkFiles(with(someFiles(), "notes.txt", "x"))(d), d.Shut(tombstone(bootA)))
		}, files{"notes.txt": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			setup := func(t *testing.T) *Dir {
				d := newPlace(t)
				must(t, c.make(d))
				return d
			}
			want := preparedFiles()
			for name, content := range c.more {
				want[name] = content
			}
			was := stateOf(t, setup(t)).Place
			open := func(_ *testing.T, d *Dir) error { _, err := reopen(d); return err }
			cutEverywhere(t, setup, open, func(t *testing.T, d *Dir) {
				// host-local finds either all or nothing.
				got := stateOf(t, d).Place
				opened := diffState(state{Place: want}, state{Place: got}) == ""
				if !opened && diffState(state{Place: was}, state{Place: got}) != "" {
					t.Errorf("it left %q", got)
				}
				told, err := reopen(d)
				switch {
				case opened && !errors.Is(err, form.ErrTaken):
					t.Errorf("it is open, and err = %v", err)
				case !opened && err != nil:
					t.Error(err)
				case !opened && told.Stamp() != look(t, d).Stamp():
					t.Error("what Prepare told is another than what a look tells")
				}
				if diff := diffState(state{Place: want}, state{Place: stateOf(t, d).Place}); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				// Whatever is left beside is in nobody's way.
				c0 := look(t, d)
				changes := []form.Change{over(t, c0, "10.0.0.2", "z")}
				if _, err := d.Apply(changes); err != nil {
					t.Error(err)
				}
				if diff := diffState(state{}, state{Beside: stateOf(t, d).Beside}); diff != "" {
					t.Errorf("beside: -want +got:\n%s", diff)
				}
			})
		})
	}
}

func TestADirectoryThatIsOpenIsNotOpenedAgain(t *testing.T) {
	d := newDir(t, someFiles())
	before := tree(t, filepath.Dir(d.path))
	_, prepareErr := d.Prepare(prepared(), nil)
	for _, err := range []error{prepareErr, d.Open()} {
		if !errors.Is(err, form.ErrTaken) || !strings.Contains(err.Error(), d.path+" is a directory already") {
			t.Errorf("err = %v", err)
		}
	}
	if diff := diffTree(before, tree(t, filepath.Dir(d.path))); diff != "" {
		t.Error(diff)
	}
}

func TestWhatWasNotPreparedIsNotOpened(t *testing.T) {
	for name, make := range map[string]func(d *Dir) error{
		"a tombstone":                func(d *Dir) error { return d.Shut(tombstone(bootA)) },
		"nothing":                    func(d *Dir) error { return os.Mkdir(filepath.Dir(d.path), 0o755) },
		"a tombstone, a file beside": func(d *Dir) error { return errors.Join(d.Shut(tombstone(bootA)), os.WriteFile(d.beside(), nil, 0o600)) },
		"nothing, with a link beside": func(d *Dir) error {
			return errors.Join(os.Mkdir(filepath.Dir(d.path), 0o755), os.Symlink("x", d.beside()))
		},
		"nothing, not even the parent": func(*Dir) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			d := newPlace(t)
			must(t, make(d))
			root := filepath.Dir(filepath.Dir(d.path))
			before := tree(t, root)
			if err := d.Open(); err == nil || !strings.Contains(err.Error(), "no directory was prepared at "+d.beside()) {
				t.Errorf("err = %v", err)
			}
			if diff := diffTree(before, tree(t, root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A thing that host-local never makes stands at an address that is held.
func TestWhatStandsInTheWayOfAReservationIsNamed(t *testing.T) {
	d := newDir(t, files{lockName: ""})
	must(t, os.Mkdir(d.file("10.0.0.7"), 0o755))
	must(t, d.Shut(tombstone(bootA)))
	before := stateOf(t, d)
	if _, err := d.Prepare(prepared(), nil); !errors.Is(err, form.ErrTaken) || !strings.Contains(err.Error(), filepath.Join(d.beside(), "10.0.0.7")) {
		t.Errorf("err = %v", err)
	}
	if diff := diffState(before, stateOf(t, d)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAPreparationThatIsNotAllowedChangesNothing(t *testing.T) {
	for name, protect := range map[string]func(t *testing.T, d *Dir){
		"as the parent may not be written": func(t *testing.T, d *Dir) {
			parent := filepath.Dir(d.path)
			must(t, os.Chmod(parent, 0o555))
			t.Cleanup(func() { must(t, os.Chmod(parent, 0o755)) })
			asNobody(t, d)
		},
		"as the file system is read-only": func(t *testing.T, d *Dir) {
			ownMounts(t)
			readOnly(t, filepath.Dir(d.path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newPlace(t)
			must(t, d.Shut(tombstone(bootA)))
			protect(t, d)
			before := tree(t, filepath.Dir(d.path))
			if _, err := d.Prepare(prepared(), nil); !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), d.beside()) {
				t.Errorf("err = %v", err)
			}
			if diff := diffTree(before, tree(t, filepath.Dir(d.path))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Down and up again, any number of times: what is not ours is where it was.
func TestFilesOfOthersSurviveEveryRound(t *testing.T) {
	d := newDir(t, with(someFiles(), "notes.txt", "x"))
	must(t, os.MkdirAll(d.file("sub/deep"), 0o755))
	must(t, os.WriteFile(d.file("sub/deep/file"), []byte("y"), 0o600))
	var st unix.Stat_t
	must(t, unix.Stat(d.file("sub/deep/file"), &st))
	for range 3 {
		must(t, d.Shut(tombstone(bootA)))
		_, err := reopen(d)
		must(t, err)
		var now unix.Stat_t
		must(t, unix.Stat(d.file("sub/deep/file"), &now))
		if now.Ino != st.Ino || now.Ctim != st.Ctim || describe(t, d.file("notes.txt")) != "x" {
			t.Errorf("it is another: %+v, %+v", st, now)
		}
	}
}

// Why it cannot be looked at is told, not that there is none.
func TestWhatIsPreparedAndCannotBeLookedAt(t *testing.T) {
	d := dirOf(t.TempDir(), strings.Repeat("n", 250)) // the name beside is longer
	if err := d.Open(); !errors.Is(err, unix.ENAMETOOLONG) {
		t.Errorf("got %v", err)
	}
}
