package migrate

import (
	"net/netip"
	"time"

	"github.com/bolt-local/bolt-local/migrate/form"
)

// unwatched is an old form whose work the store's watchdog does not count: ten
// thousand files take longer than any look at the checkpoint.
type unwatched struct {
	form.Old
	outside func(func())
}

func (u unwatched) do(fn func() error) (err error) {
	u.outside(func() { err = fn() })
	return err
}

// Lock implements [form.Old].
func (u unwatched) Lock(write bool, deadline time.Time) error {
	return u.do(func() error { return u.Old.Lock(write, deadline) })
}

// Look implements [form.Old].
func (u unwatched) Look() (c form.Contents, err error) {
	u.outside(func() { c, err = u.Old.Look() })
	return c, err
}

// Make implements [form.Old].
func (u unwatched) Make(deadline time.Time) error {
	return u.do(func() error { return u.Old.Make(deadline) })
}

// Apply implements [form.Old].
func (u unwatched) Apply(changes []form.Change) (marks []string, err error) {
	u.outside(func() { marks, err = u.Old.Apply(changes) })
	return marks, err
}

// SetLast implements [form.Old].
func (u unwatched) SetLast(last map[int]netip.Addr) error {
	return u.do(func() error { return u.Old.SetLast(last) })
}

// Shut implements [form.Old].
func (u unwatched) Shut(t form.Tombstone) error { return u.do(func() error { return u.Old.Shut(t) }) }

// Sync implements [form.Old].
func (u unwatched) Sync() error { return u.do(u.Old.Sync) }

// Prepare implements [form.Old].
func (u unwatched) Prepare(entries []form.Entry, last map[int]netip.Addr) (c form.Contents, err error) {
	u.outside(func() { c, err = u.Old.Prepare(entries, last) })
	return c, err
}

// Prepared implements [form.Old].
func (u unwatched) Prepared() (c form.Contents, err error) {
	u.outside(func() { c, err = u.Old.Prepared() })
	return c, err
}

// Open implements [form.Old].
func (u unwatched) Open() error { return u.do(u.Old.Open) }
