package enginetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/filelock"
	"github.com/bolt-local/bolt-local/store/record"
)

// List is an old form of all holders in one JSON file, which each change
// replaces. Its lock lies beside and outlives it. Its place is a number that
// the file is given when it is made, its marks are that and numbers that grow,
// and it is shut by a tombstone in its place.
type List struct{ path string }

// NewList returns the list in dir.
func NewList(dir string) *List { return &List{filepath.Join(dir, Network+".list")} }

// Path implements [Older].
func (l *List) Path() string { return l.path }

// Open implements [Older].
func (l *List) Open(path string) form.Old { return &listForm{path: path} }

// listDoc is what stands in the file.
type listDoc struct {
	ID      uint64                   `json:"id"`
	Marks   uint64                   `json:"marks"` // given so far
	Holders map[netip.Addr]listEntry `json:"holders"`
	Last    map[int]netip.Addr       `json:"last,omitempty"`
	Shut    *form.Tombstone          `json:"shut,omitempty"`
}

// listEntry blocks its address where it names no container.
type listEntry struct {
	Container string `json:"container"`
	Interface string `json:"interface,omitempty"`
	Mark      uint64 `json:"mark"`
	Fixed     bool   `json:"fixed,omitempty"`
}

func newListDoc() listDoc {
	return listDoc{ID: rand.Uint64(), Holders: map[netip.Addr]listEntry{}}
}

func (d *listDoc) set(addr netip.Addr, e listEntry) string {
	d.Marks++
	e.Mark = d.Marks
	d.Holders[addr] = e
	return d.mark(e)
}

// mark is no other's, also not one of an earlier file in this place.
func (d *listDoc) mark(e listEntry) string { return fmt.Sprintf("%x/%d", d.ID, e.Mark) }

// readList reports false where there is no file.
func readList(path string) (listDoc, bool, error) {
	d := listDoc{Holders: map[netip.Addr]listEntry{}}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d, false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	return d, err == nil, err
}

func writeList(path string, d listDoc) error {
	raw, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return replaceFile(path, raw)
}

func (d listDoc) contents() form.Contents {
	if d.Shut != nil {
		return form.Contents{Shut: d.Shut}
	}
	c := form.Contents{
		Exists: true,
		Bare:   len(d.Holders) == 0 && len(d.Last) == 0,
		Place:  strconv.FormatUint(d.ID, 16),
		Last:   d.Last,
	}
	for _, addr := range slices.SortedFunc(maps.Keys(d.Holders), netip.Addr.Compare) {
		e := d.Holders[addr]
		mark := d.mark(e)
		if e.Container == "" {
			c.SetAside = append(c.SetAside, form.Aside{Addr: addr, Mark: mark, Fixed: e.Fixed})
			continue
		}
		c.Entries = append(c.Entries, form.Entry{Addr: addr, Holder: record.Holder{
			Attachment: record.Attachment{ContainerID: e.Container, IfName: e.Interface},
			Origin:     record.OriginHostLocal, // "made by another" to the engine
			Mark:       mark,
		}})
	}
	return c
}

// listForm is the list as the engine uses it.
type listForm struct {
	path string
	lock *filelock.Lock
}

var _ form.Old = (*listForm)(nil)

func (l *listForm) Path() string { return l.path }

func (l *listForm) Lock(write bool, deadline time.Time) error {
	lock, err := filelock.Acquire(l.path+".lock", filelock.Options{Create: write, Write: write, Mode: 0o600, Deadline: deadline})
	if errors.Is(err, fs.ErrNotExist) && !write {
		return nil
	}
	l.lock = lock
	return err
}

// Sync implements [form.Old]: nobody cuts the power of a test.
func (l *listForm) Sync() error { return nil }

// Changed implements [form.Old]: the list has no times.
func (l *listForm) Changed(string) time.Time { return time.Time{} }

func (l *listForm) Unlock() {
	if l.lock != nil {
		_ = l.lock.Unlock()
		l.lock = nil
	}
}

func (l *listForm) Look() (form.Contents, error) {
	d, there, err := readList(l.path)
	if err != nil || !there {
		return form.Contents{}, err
	}
	return d.contents(), nil
}

func (l *listForm) Apply(changes []form.Change) ([]string, error) {
	d, _, err := readList(l.path)
	if err != nil {
		return nil, err
	}
	marks := make([]string, len(changes))
	for i, c := range changes {
		e, there := d.Holders[c.Addr]
		switch {
		case there != (c.Had != nil), there && d.mark(e) != c.Had.Holder.Mark:
			return nil, fmt.Errorf("%w: %s in %s", form.ErrTaken, c.Addr, l.path)
		case there && e.Fixed:
			return nil, fmt.Errorf("%s in %s cannot be replaced", c.Addr, l.path)
		case c.Want == nil:
			delete(d.Holders, c.Addr)
		default:
			marks[i] = d.set(c.Addr, listEntry{Container: c.Want.ContainerID, Interface: c.Want.IfName})
		}
	}
	failpoint.Hit("list.before-write")
	if err := writeList(l.path, d); err != nil {
		return nil, err
	}
	failpoint.Hit("list.written")
	return marks, nil
}

func (l *listForm) SetLast(last map[int]netip.Addr) error {
	if len(last) == 0 {
		return nil
	}
	d, _, err := readList(l.path)
	if err != nil {
		return err
	}
	if d.Last == nil {
		d.Last = map[int]netip.Addr{}
	}
	maps.Copy(d.Last, last)
	maps.DeleteFunc(d.Last, func(_ int, addr netip.Addr) bool { return !addr.IsValid() })
	return writeList(l.path, d)
}
