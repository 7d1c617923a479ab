package hostlocal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWhetherADirectoryHoldsSomething(t *testing.T) {
	parent := func(d *Dir) error { return os.MkdirAll(filepath.Dir(d.path), 0o755) }
	for name, c := range map[string]struct {
		make func(d *Dir) error
		want bool
	}{
		"nothing":                   {parent, false},
		"nothing, without a parent": {func(*Dir) error { return nil }, false},
		"nothing, below a file":     {func(d *Dir) error { return os.WriteFile(filepath.Dir(d.path), nil, 0o600) }, false},
		"an empty directory":        {mkFiles(nil), false},
		"a lock alone":              {mkFiles(files{lockName: ""}), false},
		"a reservation":             {mkFiles(files{"10.0.0.2": "a"}), true},
		"a reservation and a lock":  {mkFiles(files{"10.0.0.2": "a", lockName: ""}), true},
		"another's file":            {mkFiles(files{"notes.txt": ""}), true},
		"a whole directory":         {mkFiles(someFiles()), true},
		"a tombstone":               {func(d *Dir) error { return d.Shut(tombstone(bootA)) }, false},
		"another's file in place":   {func(d *Dir) error { return errors.Join(parent(d), os.WriteFile(d.path, nil, 0o600)) }, false},
		"a link, which may":         {func(d *Dir) error { return errors.Join(parent(d), os.Symlink("elsewhere", d.path)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newPlace(t)
			must(t, c.make(d))
			root := filepath.Dir(filepath.Dir(d.path))
			before := tree(t, root)
			if got := d.HoldsSomething(); got != c.want {
				t.Errorf("it says %v", got)
			}
			// A look says the same, where it can.
			if l, err := d.Look(); err == nil && (l.Exists && !l.Bare) != c.want {
				t.Errorf("a look tells %+v", l)
			}
			if diff := diffTree(before, tree(t, root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestADirectoryThatCannotBeReadMayHoldSomething(t *testing.T) {
	d := newDir(t, someFiles())
	must(t, os.Chmod(d.path, 0))
	t.Cleanup(func() { must(t, os.Chmod(d.path, 0o755)) })
	asNobody(t, d)
	if _, err := os.Open(d.path); !errors.Is(err, unix.EACCES) {
		t.Fatalf("it can be read: %v", err)
	}
	if !d.HoldsSomething() {
		t.Error("it holds nothing")
	}
}
