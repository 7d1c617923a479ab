package hostlocal

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
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

// Several threads read it, each a part, and what they find is what one finds.
func TestManyFilesAreAllRead(t *testing.T) {
	for _, n := range []int{manyFiles / 2, 3 * manyFiles} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
			f := files{lockName: "", "last_reserved_ip.0": "10.0.0.3", "last_reserved_ip.1": "10.0.9.9", "note": "nothing"}
			var want form.Contents
			for i := range n {
				addr := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).String()
				if i%10 == 7 {
					f[addr] = "" // a host-local that was killed
					want.SetAside = append(want.SetAside, form.Aside{Addr: ip(addr)})
					continue
				}
				f[addr] = fmt.Sprintf("c%d\r\neth0", i)
				e := entry(addr, fmt.Sprint("c", i), "eth0")
				e.Holder.Origin = record.OriginHostLocal
				want.Entries = append(want.Entries, e)
			}
			want.Last = map[int]netip.Addr{0: ip("10.0.0.3"), 1: ip("10.0.9.9")}
			d := newDir(t, f)
			got := look(t, d)
			if !got.Exists || got.Bare || got.Place == "" {
				t.Errorf("exists %v, bare %v, place %q", got.Exists, got.Bare, got.Place)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(form.Contents{}, "Exists", "Place"),
				cmpopts.IgnoreFields(record.Holder{}, "Mark"), cmpopts.IgnoreUnexported(record.Holder{}), cmpopts.IgnoreFields(form.Aside{}, "Mark"), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOneOfManyFilesThatCannotBeReadIsTold(t *testing.T) {
	f := files{}
	for i := range 2 * manyFiles {
		f[fmt.Sprintf("10.0.%d.%d", i>>8, i&0xff)] = "c\r\neth0"
	}
	d := newDir(t, f)
	dir, err := os.Open(d.path)
	must(t, err)
	names, err := dir.Readdirnames(-1)
	must(t, err)
	for _, broken := range []int{0, len(names) / 2, len(names) - 1} {
		n := slices.Clone(names)
		n[broken] = "fe80::1%" + strings.Repeat("x", 300) // ENAMETOOLONG
		if _, err := readAll(dir, n); err == nil {
			t.Errorf("file %d of %d: no error", broken, len(n))
		}
	}
}
