package hostlocal

import (
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

func TestChangesAreWrittenAsHostLocalWritesThem(t *testing.T) {
	start := with(with(someFiles(), "10.0.0.7", ""), "10.0.0.8", "old\n")
	for name, c := range map[string]struct {
		changes func(t *testing.T, c form.Contents) []form.Change
		want    map[string]string // "-" for a file that is gone
	}{
		"nothing":     {func(*testing.T, form.Contents) []form.Change { return nil }, nil},
		"a new one":   {func(*testing.T, form.Contents) []form.Change { return []form.Change{add("10.0.0.4", "c")} }, files{"10.0.0.4": "c\r\neth0"}},
		"one of IPv6": {func(*testing.T, form.Contents) []form.Change { return []form.Change{add("fd00:0:0::A", "c")} }, files{"fd00::a": "c\r\neth0"}},
		"one of an unknown ifname": {func(*testing.T, form.Contents) []form.Change {
			return []form.Change{{Addr: ip("10.0.0.4"), Want: holder("c", "")}}
		}, files{"10.0.0.4": "c"}},
		"another holder": {func(t *testing.T, c form.Contents) []form.Change { return []form.Change{over(t, c, "10.0.0.2", "c")} }, files{"10.0.0.2": "c\r\neth0"}},
		"a holder of what named nobody": {func(t *testing.T, c form.Contents) []form.Change {
			return []form.Change{over(t, c, "10.0.0.7", "c")}
		}, files{"10.0.0.7": "c\r\neth0"}},
		"one less":              {func(t *testing.T, c form.Contents) []form.Change { return []form.Change{del(t, c, "10.0.0.2")} }, files{"10.0.0.2": "-"}},
		"one of old bytes less": {func(t *testing.T, c form.Contents) []form.Change { return []form.Change{del(t, c, "10.0.0.8")} }, files{"10.0.0.8": "-"}},
		"one of no holder less": {func(t *testing.T, c form.Contents) []form.Change { return []form.Change{del(t, c, "10.0.0.7")} }, files{"10.0.0.7": "-"}},
		"one of each, backwards": {func(t *testing.T, c form.Contents) []form.Change {
			return []form.Change{del(t, c, "10.0.0.3"), over(t, c, "10.0.0.2", "c"), add("10.0.0.4", "d"), add("fd00::4", "d")}
		}, files{"10.0.0.3": "-", "10.0.0.2": "c\r\neth0", "10.0.0.4": "d\r\neth0", "fd00::4": "d\r\neth0"}},
	} {
		for name2, set := range fileSystems {
			t.Run(name+", "+name2, func(t *testing.T) {
				set(t)
				d := newDir(t, start)
				before := look(t, d)
				changes := c.changes(t, before)
				marks, err := d.Apply(changes)
				must(t, err)
				want := maps.Clone(start)
				for name, content := range c.want {
					if want[name] = content; content == "-" {
						delete(want, name)
					}
				}
				if diff := diffState(state{Place: want}, stateOf(t, d)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				for i, ch := range changes {
					if (ch.Want != nil) != (marks[i] != "") {
						t.Errorf("%s has the mark %q", ch.Addr, marks[i])
					}
				}
				after, got := before.After(changes, marks), look(t, d)
				if after.Stamp() != got.Stamp() {
					t.Errorf("a new look has another stamp:\n%s", cmp.Diff(after, got, cmp.Comparer(sameAddr), cmp.Comparer(sameHolderRecord)))
				}
			})
		}
	}
}

func sameAddr(a, b netip.Addr) bool { return a == b }

func sameHolderRecord(a, b record.Holder) bool {
	return a.Attachment == b.Attachment && a.Mark == b.Mark
}

func TestTheModeOfAReservationIsHostLocalsUnderAnyUmask(t *testing.T) {
	for _, umask := range []int{0o000, 0o022, 0o077, 0o777} {
		for name, set := range fileSystems {
			t.Run(name, func(t *testing.T) {
				set(t)
				d := newDir(t, someFiles())
				defer unix.Umask(unix.Umask(umask))
				_, err := d.Apply([]form.Change{add("10.0.0.4", "c"), over(t, look(t, d), "10.0.0.2", "d")})
				must(t, err)
				for _, name := range []string{"10.0.0.4", "10.0.0.2"} {
					info, err := os.Lstat(d.file(name))
					must(t, err)
					if info.Mode() != 0o600 {
						t.Errorf("umask %03o: %s has mode %v", umask, name, info.Mode())
					}
				}
			})
		}
	}
}

// What was read is not there any more, or something is where nothing was:
// nothing is changed, of this change and of those before it.
func TestWhatSomebodyElseHasTakenIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, d *Dir)
		change    func(t *testing.T, c form.Contents) form.Change
	}{
		"a reservation where there was none": {
			func(t *testing.T, d *Dir) { writeFiles(t, d.path, files{"10.0.0.4": "theirs\r\neth0"}) },
			func(*testing.T, form.Contents) form.Change { return add("10.0.0.4", "c") }},
		"the same reservation where there was none": {
			func(t *testing.T, d *Dir) { writeFiles(t, d.path, files{"10.0.0.4": "c\r\neth0"}) },
			func(*testing.T, form.Contents) form.Change { return add("10.0.0.4", "c") }},
		"a directory where there was none": {
			func(t *testing.T, d *Dir) { must(t, os.Mkdir(d.file("10.0.0.4"), 0o755)) },
			func(*testing.T, form.Contents) form.Change { return add("10.0.0.4", "c") }},
		"a link where there was none": {
			func(t *testing.T, d *Dir) { must(t, os.Symlink("nothing", d.file("10.0.0.4"))) },
			func(*testing.T, form.Contents) form.Change { return add("10.0.0.4", "c") }},
		"another holder in the one to replace": {
			func(t *testing.T, d *Dir) { writeFiles(t, d.path, files{"10.0.0.2": "theirs\r\neth0"}) },
			func(t *testing.T, c form.Contents) form.Change { return over(t, c, "10.0.0.2", "c") }},
		"the same bytes again in the one to replace": {
			func(t *testing.T, d *Dir) { replaceWithSame("10.0.0.2")(t, d) },
			func(t *testing.T, c form.Contents) form.Change { return over(t, c, "10.0.0.2", "c") }},
		"nothing in the one to replace": {
			func(t *testing.T, d *Dir) { must(t, os.Remove(d.file("10.0.0.2"))) },
			func(t *testing.T, c form.Contents) form.Change { return over(t, c, "10.0.0.2", "c") }},
		"a directory in the one to replace": {
			func(t *testing.T, d *Dir) {
				must(t, errors.Join(os.Remove(d.file("10.0.0.2")), os.Mkdir(d.file("10.0.0.2"), 0o755)))
			},
			func(t *testing.T, c form.Contents) form.Change { return over(t, c, "10.0.0.2", "c") }},
		"another holder in the one to remove": {
			func(t *testing.T, d *Dir) { writeFiles(t, d.path, files{"10.0.0.2": "theirs\r\neth0"}) },
			func(t *testing.T, c form.Contents) form.Change { return del(t, c, "10.0.0.2") }},
		"the same bytes again in the one to remove": {
			func(t *testing.T, d *Dir) { replaceWithSame("10.0.0.2")(t, d) },
			func(t *testing.T, c form.Contents) form.Change { return del(t, c, "10.0.0.2") }},
		"nothing in the one to remove": {
			func(t *testing.T, d *Dir) { must(t, os.Remove(d.file("10.0.0.2"))) },
			func(t *testing.T, c form.Contents) form.Change { return del(t, c, "10.0.0.2") }},
		"a holder in what named nobody": {
			func(t *testing.T, d *Dir) { writeFiles(t, d.path, files{"10.0.0.7": "theirs\r\neth0"}) },
			func(t *testing.T, c form.Contents) form.Change { return over(t, c, "10.0.0.7", "c") }},
	} {
		for name2, set := range fileSystems {
			t.Run(name+", "+name2, func(t *testing.T) {
				set(t)
				d := newDir(t, with(someFiles(), "10.0.0.7", ""))
				c2 := look(t, d)
				changes := []form.Change{add("fd00::1", "first"), over(t, c2, "10.0.0.3", "first"), c.change(t, c2)}
				tick(t)
				c.meanwhile(t, d)
				before := tree(t, filepath.Dir(d.path))
				marks, err := d.Apply(changes)
				if !errors.Is(err, form.ErrTaken) || marks != nil || !strings.Contains(err.Error(), d.file(changes[2].Addr.String())) {
					t.Errorf("marks %q, err = %v", marks, err)
				}
				if diff := diffTree(before, tree(t, filepath.Dir(d.path))); diff != "" {
					t.Errorf("something has changed:\n%s", diff)
				}
			})
		}
	}
}

func TestCursorsHaveHostLocalsExactBytes(t *testing.T) {
	d := newDir(t, with(someFiles(), "last_reserved_ip.1", "fd00:1234:5678:9abc:def0:1234:5678:9abc"))
	must(t, d.SetLast(map[int]netip.Addr{0: ip("10.0.0.200"), 1: ip("fd00::2"), 12: ip("10.1.0.2")}))
	want := someFiles()
	want["last_reserved_ip.0"], want["last_reserved_ip.1"], want["last_reserved_ip.12"] = "10.0.0.200", "fd00::2", "10.1.0.2"
	if diff := cmp.Diff(map[string]string(want), listing(t, d.path)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	info, err := os.Lstat(d.file("last_reserved_ip.12"))
	must(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestACursorIsNotWrittenThroughWhatIsNoFile(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a link":      func(p string) error { return os.Symlink("10.0.0.2", p) },
		"a pipe":      func(p string) error { return unix.Mkfifo(p, 0o600) },
		"a directory": func(p string) error { return os.Mkdir(p, 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, files{"10.0.0.2": "a\r\neth0"})
			must(t, make(d.file("last_reserved_ip.0")))
			before := tree(t, d.path)
			if err := d.SetLast(lastOf(0, "10.0.0.9")); err == nil || !strings.Contains(err.Error(), d.file("last_reserved_ip.0")) {
				t.Errorf("err = %v", err)
			}
			if diff := diffTree(before, tree(t, d.path)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
