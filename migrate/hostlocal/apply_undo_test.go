package hostlocal

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// undoFiles has what each kind of change needs, twice.
func undoFiles() files {
	return files{
		"10.0.0.2": "a\r\neth0", "10.0.0.3": "b\r\neth0", "10.0.0.6": "f\r\neth0", "10.0.0.7": "",
		"last_reserved_ip.0": "10.0.0.3", lockName: "",
	}
}

type changer func(t *testing.T, c form.Contents) []form.Change

func twoNew(*testing.T, form.Contents) []form.Change {
	return []form.Change{add("10.0.0.4", "c"), add("10.0.0.5", "c")}
}

func twoReleased(t *testing.T, c form.Contents) []form.Change {
	return []form.Change{del(t, c, "10.0.0.2"), del(t, c, "10.0.0.6")}
}

// Somebody who takes no lock changes a file when a change before it was done.
func TestChangesAreTakenBackWhereALaterOneIsTaken(t *testing.T) {
	const directory = "d---------" // as os.FileMode writes it
	for name, c := range map[string]struct {
		changes   changer
		point     string
		meanwhile func(t *testing.T, d *Dir)
		theirs    files // what is then to be found; "-" for nothing
	}{
		"the second of two new ones": {
			twoNew, "hostlocal.created",
			func(t *testing.T, d *Dir) { writeFiles(t, d.path, files{"10.0.0.5": "theirs\r\neth0"}) },
			files{"10.0.0.5": "theirs\r\neth0"}},
		"the second of two new ones, by a directory": {
			twoNew, "hostlocal.created",
			func(t *testing.T, d *Dir) { must(t, os.Mkdir(d.file("10.0.0.5"), 0o755)) },
			files{"10.0.0.5": directory}},
		"a replacement after a new one": {
			func(t *testing.T, c form.Contents) []form.Change {
				return []form.Change{over(t, c, "10.0.0.2", "c"), add("10.0.0.4", "c")}
			}, "hostlocal.created",
			func(t *testing.T, d *Dir) { writeFiles(t, d.path, files{"10.0.0.2": "theirs\r\neth0"}) },
			files{"10.0.0.2": "theirs\r\neth0"}},
		"the second of two replacements": {
			func(t *testing.T, c form.Contents) []form.Change {
				return []form.Change{add("10.0.0.4", "c"), over(t, c, "10.0.0.2", "c"), over(t, c, "10.0.0.3", "c")}
			}, "hostlocal.replaced",
			func(t *testing.T, d *Dir) { must(t, os.Remove(d.file("10.0.0.3"))) },
			files{"10.0.0.3": "-"}},
		"one after what named nobody was replaced": {
			func(t *testing.T, c form.Contents) []form.Change {
				return []form.Change{over(t, c, "10.0.0.7", "c"), over(t, c, "10.0.0.3", "c")}
			}, "hostlocal.replaced",
			func(t *testing.T, d *Dir) { must(t, os.Chmod(d.file("10.0.0.3"), 0o640)) },
			nil},
		"the second of two releases": {
			twoReleased, "hostlocal.unlinked",
			func(t *testing.T, d *Dir) { must(t, os.Chmod(d.file("10.0.0.6"), 0o640)) },
			nil},
		"the second of two releases, by a directory": {
			twoReleased, "hostlocal.unlinked",
			func(t *testing.T, d *Dir) {
				must(t, errors.Join(os.Remove(d.file("10.0.0.6")), os.Mkdir(d.file("10.0.0.6"), 0o755)))
			},
			files{"10.0.0.6": directory}},
		"a release, the last of each kind": {
			func(t *testing.T, c form.Contents) []form.Change {
				return []form.Change{del(t, c, "10.0.0.2"), del(t, c, "10.0.0.6"), add("10.0.0.4", "c"), over(t, c, "10.0.0.3", "c")}
			}, "hostlocal.unlinked",
			func(t *testing.T, d *Dir) { writeFiles(t, d.path, files{"10.0.0.6": "theirs\r\neth0"}) },
			files{"10.0.0.6": "theirs\r\neth0"}},
	} {
		for name2, set := range fileSystems {
			t.Run(name+", "+name2, func(t *testing.T) {
				set(t)
				d := newDir(t, undoFiles())
				changes := c.changes(t, look(t, d))
				once(t, c.point, func() {
					tick(t)
					c.meanwhile(t, d)
				})
				if _, err := d.Apply(changes); !errors.Is(err, form.ErrTaken) {
					t.Errorf("err = %v", err)
				}
				want := undoFiles()
				for name, content := range c.theirs {
					if want[name] = content; content == "-" {
						delete(want, name)
					}
				}
				if diff := diffState(state{Place: want}, stateOf(t, d)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
}

// once calls fn at the first passing of a point, and asks that it comes to it.
func once(t *testing.T, at string, fn func()) {
	passed := false
	hook(t, func(point string) {
		if point == at && !passed {
			passed = true
			fn()
		}
	})
	t.Cleanup(func() {
		if !passed {
			t.Errorf("it has not come to %s", at)
		}
	})
}

// The process has used up its open files when a change before it was done.
func TestChangesAreTakenBackWhereNoFileCanBeOpened(t *testing.T) {
	for name, c := range map[string]struct {
		changes changer
		point   string
		path    string // in the error's text
	}{
		"for a second new one":  {twoNew, "hostlocal.created", "10.0.0.5"},
		"to sync the directory": {twoNew, "hostlocal.before-sync", ""},
		"for a replacement": {func(t *testing.T, c form.Contents) []form.Change {
			return []form.Change{add("10.0.0.4", "c"), over(t, c, "10.0.0.2", "c")}
		}, "hostlocal.created", "10.0.0.2"},
	} {
		for name2, set := range fileSystems {
			t.Run(name+", "+name2, func(t *testing.T) {
				set(t)
				d := newDir(t, undoFiles())
				changes := c.changes(t, look(t, d))
				var was unix.Rlimit
				must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
				once(t, c.point, func() {
					must(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: was.Max}, nil))
				})
				_, err := d.Apply(changes)
				must(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &was, nil))
				if !errors.Is(err, unix.EMFILE) || errors.Is(err, form.ErrTaken) || !strings.Contains(err.Error(), d.file(c.path)) {
					t.Errorf("err = %v, want %v of %s", err, unix.EMFILE, d.file(c.path))
				}
				if diff := diffState(state{Place: undoFiles()}, stateOf(t, d)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
}
