package hostlocal

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// many are more changes than are made in turn.
func many() (changes []form.Change, f files) {
	f = files{}
	for i := range 5 * fewFiles {
		addr, id := fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("c%d", i)
		changes = append(changes, add(addr, id))
		f[addr] = id + "\r\neth0"
	}
	return changes, f
}

func TestManyFilesAreAllWrittenAndMarked(t *testing.T) {
	for name, unnamed := range map[string]bool{"without a name at first": true, "by the name beside": false} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, someFiles())
			if !unnamed {
				refuseUnnamed(t, func() bool { return true }, unix.EOPNOTSUPP)
			}
			changes, want := many()
			marks, err := d.Apply(changes)
			must(t, err)
			c := look(t, d)
			for i, change := range changes {
				if e, ok := c.At(change.Addr); !ok || e.Holder.Mark != marks[i] || e.Holder.ContainerID != change.Want.ContainerID {
					t.Errorf("%s: %+v, marked %q", change.Addr, e, marks[i])
				}
			}
			maps.Copy(want, someFiles())
			if got := listing(t, d.path); len(got) != len(want) {
				t.Errorf("%d files, want %d", len(got), len(want))
			}
		})
	}
}

func TestOfManyFilesAllAreTakenBackWhereOneFails(t *testing.T) {
	d := newDir(t, someFiles())
	before := stateOf(t, d)
	var calls atomic.Int32
	refuseUnnamed(t, func() bool { return calls.Add(1) > 3*fewFiles }, unix.ENOSPC)
	changes, _ := many()
	if _, err := d.Apply(changes); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("error %v", err)
	}
	if calls.Load() <= 3*fewFiles {
		t.Error("nothing has failed")
	}
	if after := stateOf(t, d); !maps.Equal(before.Place, after.Place) {
		t.Errorf("left: %q", slices.Sorted(maps.Keys(after.Place)))
	}
}

// refuseUnnamed makes the opening of files without a name fail while refuses.
func refuseUnnamed(t *testing.T, refuses func() bool, with unix.Errno) {
	before := openUnnamed
	openUnnamed = func(dir string) (*os.File, error) {
		if refuses() {
			return nil, &os.PathError{Op: "open", Path: dir, Err: with}
		}
		return before(dir)
	}
	t.Cleanup(func() { openUnnamed = before })
}
