package hostlocal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// A directory that cannot be swapped stays open, and whoever asks is told.
func TestADirectoryThatCannotBeSwappedStaysOpen(t *testing.T) {
	for name, make := range map[string]func(t *testing.T) *Dir{
		"a mount point": func(t *testing.T) *Dir {
			d := newDir(t, nil)
			ownMounts(t)
			mount(t, "tmpfs", d.path, "tmpfs", 0, "size=1m")
			writeFiles(t, d.path, someFiles())
			return d
		},
		"a directory of an image's lower layer": func(t *testing.T) *Dir {
			root := t.TempDir()
			ownMounts(t)
			mount(t, "tmpfs", root, "tmpfs", 0, "size=1m")
			for _, dir := range []string{"lower/podnet", "upper", "work", "networks"} {
				must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
			}
			writeFiles(t, filepath.Join(root, "lower/podnet"), someFiles())
			data := "redirect_dir=off,lowerdir=" + root + "/lower,upperdir=" + root + "/upper,workdir=" + root + "/work"
			mount(t, "overlay", filepath.Join(root, "networks"), "overlay", 0, data)
			return dirOf(filepath.Join(root, "networks"), "podnet")
		},
		"what other networks are in": func(t *testing.T) *Dir {
			d := newDir(t, someFiles())
			must(t, os.Mkdir(filepath.Join(d.path, "othernet"), 0o755))
			must(t, os.WriteFile(filepath.Join(d.path, "othernet", lockName), nil, 0o600))
			return d
		},
		"on a file system that has no exchange": func(t *testing.T) *Dir { swapFails(t, unix.EINVAL); return newDir(t, someFiles()) },
		"on a kernel that has none":             func(t *testing.T) *Dir { swapFails(t, unix.ENOSYS); return newDir(t, someFiles()) },
		"across file systems":                   func(t *testing.T) *Dir { swapFails(t, unix.EXDEV); return newDir(t, someFiles()) },
		"where it is busy":                      func(t *testing.T) *Dir { swapFails(t, unix.EBUSY); return newDir(t, someFiles()) },
	} {
		t.Run(name, func(t *testing.T) {
			d := make(t)
			before, stamp, files := stateOf(t, d), look(t, d).Stamp(), tree(t, d.path)
			for range 2 {
				if err := d.Shut(tombstone(bootA)); !errors.Is(err, form.ErrCannotShut) || !strings.Contains(err.Error(), d.path) {
					t.Errorf("err = %v", err)
				}
			}
			if diff := diffState(before, stateOf(t, d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := look(t, d).Stamp(); got != stamp {
				t.Errorf("its stamp was %q, and is %q", stamp, got)
			}
			if diff := diffTree(files, tree(t, d.path)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func swapFails(t *testing.T, err error) {
	before := exchangeNames
	exchangeNames = func(string, string) error { return err }
	t.Cleanup(func() { exchangeNames = before })
}

// Any other failure may be gone the next time, and is not taken for one that
// never goes.
func TestASwapThatFailsOtherwiseIsNotGivenUp(t *testing.T) {
	for _, errno := range []error{unix.EIO, unix.ENOSPC, unix.EACCES} {
		t.Run(errno.Error(), func(t *testing.T) {
			d := newDir(t, someFiles())
			swapFails(t, errno)
			if err := d.Shut(tombstone(bootA)); !errors.Is(err, errno) || errors.Is(err, form.ErrCannotShut) || !strings.Contains(err.Error(), d.path) {
				t.Errorf("err = %v", err)
			}
			if diff := diffState(state{Place: someFiles()}, stateOf(t, d)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestATombstoneThatCannotBeSwappedStays(t *testing.T) {
	d := newPlace(t)
	must(t, d.Shut(tombstone(bootA)))
	c, err := d.Prepare([]form.Entry{entry("10.0.0.2", "a", "eth0")}, nil)
	must(t, err)
	swapFails(t, unix.EBUSY)
	if err := d.Open(); !errors.Is(err, form.ErrCannotShut) {
		t.Errorf("err = %v", err)
	}
	want := state{tombstoneFile(bootA), files{"10.0.0.2": "a\r\neth0", lockName: ""}}
	if diff := diffState(want, stateOf(t, d)); diff != "" || len(c.Entries) != 1 {
		t.Errorf("-want +got:\n%s", diff)
	}
}
