package enginetest

import (
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// next is where a list is made ready beside a tombstone.
func (l *listForm) next() string { return l.path + ".next" }

// Make needs no lock: that of a list outlives it.
func (l *listForm) Make(time.Time) error {
	d, there, err := readList(l.path)
	if err != nil || (there && d.Shut == nil) {
		return err
	}
	return writeList(l.path, newListDoc())
}

func (l *listForm) Shut(t form.Tombstone) error {
	d, _, err := readList(l.path)
	if err != nil || (d.Shut != nil && *d.Shut == t) {
		return err
	}
	failpoint.Hit("list.before-swap")
	if err := writeList(l.path, listDoc{Shut: &t}); err != nil {
		return err
	}
	failpoint.Hit("list.after-swap")
	return nil
}

func (l *listForm) Prepare(entries []form.Entry, last map[int]netip.Addr) (form.Contents, error) {
	d := newListDoc()
	d.Last = last
	for _, e := range entries {
		d.set(e.Addr, listEntry{Container: e.Holder.ContainerID, Interface: e.Holder.IfName})
	}
	if err := writeList(l.next(), d); err != nil {
		return form.Contents{}, err
	}
	failpoint.Hit("list.prepared")
	return d.contents(), nil
}

func (l *listForm) Prepared() (form.Contents, error) {
	d, there, err := readList(l.next())
	if err != nil || !there {
		return form.Contents{}, err
	}
	return d.contents(), nil
}

func (l *listForm) Open() error {
	d, there, err := readList(l.path)
	switch {
	case err != nil:
		return err
	case there && d.Shut == nil:
		return fmt.Errorf("%w: %s is open", form.ErrTaken, l.path)
	}
	failpoint.Hit("list.before-open")
	if err := os.Rename(l.next(), l.path); err != nil {
		return err
	}
	failpoint.Hit("list.opened")
	return nil
}
