package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/pages"
)

// newPagesFile is a file of count pages, all of them in use.
func newPagesFile(t *testing.T, dir string, p pages.Meta) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "pages"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if _, err := f.Write(bytes.Repeat([]byte{0xA5}, int(p.PageSize)*int(p.HighWater))); err != nil {
		t.Fatal(err)
	}
	if err := allocate(f, 1); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skipf("the file system of %s has no fallocate", dir)
	}
	return f
}

// sizes are a file's length and what is really allocated of it, in bytes.
func sizes(t *testing.T, path string) (length, allocated int64) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Size, st.Blocks * 512
}

func TestMakeRoomAllocatesTheRoomAndAChunk(t *testing.T) {
	for _, p := range []pages.Meta{{PageSize: 4096, HighWater: 4}, {PageSize: 4096, HighWater: 300}, {PageSize: 16384, HighWater: 5}} {
		t.Run(fmt.Sprintf("%d pages of %d", p.HighWater, p.PageSize), func(t *testing.T) {
			f := newPagesFile(t, t.TempDir(), p)
			used := int64(p.HighWater) * p.PageSize
			room := (int64(p.HighWater) + roomPages) * p.PageSize
			want := room + growChunk
			grow := func(why string, p pages.Meta, want int64) {
				t.Helper()
				if err := makeRoom(f, p); err != nil {
					t.Fatalf("%s: %v", why, err)
				}
				if length, allocated := sizes(t, f.Name()); length != want || allocated < want {
					t.Errorf("%s: length %d, allocated %d, want %d", why, length, allocated, want)
				}
			}
			grow("first", p, want)
			grow("again", p, want)
			fits := pages.Meta{PageSize: p.PageSize, HighWater: p.HighWater + growChunk/uint64(p.PageSize)}
			grow("as the chunk is used up", fits, want)
			over := pages.Meta{PageSize: p.PageSize, HighWater: fits.HighWater + 1}
			grow("past the chunk", over, want+p.PageSize+growChunk)
			grow("with fewer pages in use", p, want+p.PageSize+growChunk)

			got, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got[:used], bytes.Repeat([]byte{0xA5}, int(used))) {
				t.Error("the pages in use have changed")
			}
		})
	}
}

// A file that is long enough, but has a hole at its end, has no room on a full
// disk: ENOSPC, or SIGBUS in the mapping.
func TestMakeRoomFillsHoles(t *testing.T) {
	p := pages.Meta{PageSize: 4096, HighWater: 4}
	f := newPagesFile(t, t.TempDir(), p)
	const long = 1 << 20
	if err := f.Truncate(long); err != nil {
		t.Fatal(err)
	}
	if err := makeRoom(f, p); err != nil {
		t.Fatal(err)
	}
	want := (int64(p.HighWater)+roomPages)*p.PageSize + growChunk
	if length, allocated := sizes(t, f.Name()); length != long || allocated < want {
		t.Errorf("length %d, allocated %d, want %d and %d", length, allocated, long, want)
	}
}

// tmpfs refuses at once, and without allocating anything, what is more than it
// can ever hold: a full disk that needs no mount of its own.
func TestMakeRoomOnAFullDiskSaysSo(t *testing.T) {
	const shm = "/dev/shm"
	var st unix.Statfs_t
	if err := unix.Statfs(shm, &st); err != nil || st.Type != unix.TMPFS_MAGIC || st.Blocks == 0 {
		t.Skipf("%s is no tmpfs of a bounded size", shm)
	}
	dir, err := os.MkdirTemp(shm, "bolt-local-test-")
	if err != nil {
		t.Skipf("no directory can be made in %s: %v", shm, err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	f := newPagesFile(t, dir, pages.Meta{PageSize: 4096, HighWater: 4})
	before, _ := sizes(t, f.Name())
	err = makeRoom(f, pages.Meta{PageSize: 4096, HighWater: 2 * st.Blocks * uint64(st.Bsize) / 4096})
	if !errors.Is(err, ErrNoSpace) || !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), f.Name()) {
		t.Errorf("err = %v", err)
	}
	if after, _ := sizes(t, f.Name()); after != before {
		t.Errorf("the file has grown from %d to %d bytes", before, after)
	}
}

func TestMakeRoomNamesTheFileItCannotGrow(t *testing.T) {
	p := pages.Meta{PageSize: 4096, HighWater: 4}
	f, err := os.Open(newPagesFile(t, t.TempDir(), p).Name()) // for reading only
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = makeRoom(f, p)
	if !errors.Is(err, unix.EBADF) || errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), f.Name()) {
		t.Errorf("err = %v", err)
	}
}

func TestNoSpaceMarksTheErrorsOfAFullDisk(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		full bool
	}{
		"no space":               {unix.ENOSPC, true},
		"a quota":                {unix.EDQUOT, true},
		"no space at a path":     {&fs.PathError{Op: "write", Path: "/x", Err: unix.ENOSPC}, true},
		"a quota, wrapped twice": {fmt.Errorf("b: %w", fmt.Errorf("a: %w", unix.EDQUOT)), true},
		"one of two":             {errors.Join(errTest, unix.ENOSPC), true},
		"an I/O error":           {unix.EIO, false},
		"a file too large":       {unix.EFBIG, false},
		"a text alone":           {errors.New("no space left on device"), false},
		"nothing":                {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := noSpace(c.err)
			if errors.Is(got, ErrNoSpace) != c.full {
				t.Errorf("%v, want ErrNoSpace: %t", got, c.full)
			}
			if !errors.Is(got, c.err) || !c.full && got != c.err {
				t.Errorf("%v has become %v", c.err, got)
			}
		})
	}
}

func TestACommitOnAFullDiskSaysSoAndTheNextCallWorks(t *testing.T) {
	beforeItWrote := func(tx *bolt.Tx) error { return errors.Join(tx.Rollback(), unix.ENOSPC) }
	onceItWrote := func(tx *bolt.Tx) error { return errors.Join(tx.Commit(), unix.EDQUOT) }
	put := func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.9", "z")) }
	del := func(net *Network) error { return net.Delete(ip(addrAt(0))) }
	for name, c := range map[string]struct {
		commit func(*bolt.Tx) error
		op     Op
		fn     func(*Network) error
	}{
		"ADD":                    {beforeItWrote, opAdd, put},
		"DEL":                    {beforeItWrote, opDel, del},
		"release":                {beforeItWrote, opTool, del},
		"ADD, seen nevertheless": {onceItWrote, opAdd, put},
		"DEL, seen nevertheless": {onceItWrote, opDel, del},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodeWith(t, 3)
			want := n.held()
			n.commitBolt = c.commit
			err := n.update(c.op, c.fn)
			if !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), n.Path()) {
				t.Fatalf("err = %v", err)
			}
			n.commitBolt = (*bolt.Tx).Commit
			n.add("10.0.0.8", "y")
			want["10.0.0.8"] = "y"
			if diff := cmp.Diff(want, n.held()); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			n.journalIsComplete()
			if err := n.update(c.op, c.fn); err != nil {
				t.Errorf("the same call again: %v", err)
			}
		})
	}
}

func TestTheFirstAddOnAFullDiskLeavesANodeThatWorks(t *testing.T) {
	n := newNode(t)
	n.commitBolt = func(*bolt.Tx) error { return unix.ENOSPC }
	err := n.update(opAdd, func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.2", "a")) })
	if !errors.Is(err, ErrNoSpace) {
		t.Fatalf("err = %v", err)
	}
	n.commitBolt = (*bolt.Tx).Commit
	if got := n.held(); len(got) != 0 {
		t.Errorf("held = %v", got)
	}
	n.add("10.0.0.3", "b")
	if got := n.held(); len(got) != 1 || got["10.0.0.3"] != "b" {
		t.Errorf("held = %v", got)
	}
}

// trim cuts the file off behind the pages in use, and returns their length in
// bytes.
func (n *node) trim() int64 {
	n.t.Helper()
	p, err := n.inspectFile(false, false)
	if err != nil {
		n.t.Fatal(err)
	}
	used := int64(p.HighWater) * p.PageSize
	if err := os.Truncate(n.Path(), used); err != nil {
		n.t.Fatal(err)
	}
	return used
}

func TestOnlyAnAddMakesRoom(t *testing.T) {
	n := newNodeWith(t, 20)
	used := n.trim()
	if err := n.update(opDel, func(net *Network) error { return net.Delete(ip(addrAt(0))) }); err != nil {
		t.Fatal(err)
	}
	if length, _ := sizes(t, n.Path()); length != used {
		t.Errorf("a DEL has grown the file from %d to %d bytes", used, length)
	}
	used = n.trim()
	n.add(addrAt(0), "d")
	want := used + roomPages*int64(os.Getpagesize()) + growChunk
	if length, allocated := sizes(t, n.Path()); length != want || allocated < want {
		t.Errorf("after an ADD: length %d, allocated %d, want %d", length, allocated, want)
	}
}

// What an ADD leaves is enough for all DELs after it, also for those of a node
// that has had many pods.
func TestADelNeverGrowsTheFile(t *testing.T) {
	const count = 200
	n := newNode(t)
	for i := range count {
		n.add(addrAt(i), "c")
	}
	length, allocated := sizes(t, n.Path())
	for i := range count {
		n.del(addrAt(i))
		if l, a := sizes(t, n.Path()); l != length || a > allocated {
			t.Fatalf("DEL %d: length %d, allocated %d, before it %d and %d", i, l, a, length, allocated)
		}
	}
}
