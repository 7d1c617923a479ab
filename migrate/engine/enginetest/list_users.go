package enginetest

import (
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"time"

	"github.com/bolt-local/bolt-local/store/record"
)

// change is what a program does that knows the list alone: it makes the file
// where it is missing.
func (l *List) change(fn func(*listDoc) error) error {
	d, there, err := readList(l.path)
	switch {
	case err != nil:
		return err
	case d.Shut != nil:
		return fmt.Errorf("%w: %s", ErrShut, l.path)
	case !there:
		d = newListDoc()
	}
	if err := fn(&d); err != nil {
		return err
	}
	return writeList(l.path, d)
}

func (l *List) locked(fn func() error) error {
	lock := listForm{path: l.path}
	if err := lock.Lock(true, time.Now().Add(10*time.Second)); err != nil {
		return err
	}
	defer lock.Unlock()
	return fn()
}

// Add implements [Older].
func (l *List) Add(att record.Attachment, addr netip.Addr) error {
	return l.locked(func() error { return l.Seize(att, addr) })
}

// Seize implements [Older].
func (l *List) Seize(att record.Attachment, addr netip.Addr) error {
	return l.change(func(d *listDoc) error {
		if _, taken := d.Holders[addr]; taken {
			return fmt.Errorf("%s: %w", addr, fs.ErrExist)
		}
		d.set(addr, listEntry{Container: att.ContainerID, Interface: att.IfName})
		d.Last = map[int]netip.Addr{0: addr}
		return nil
	})
}

// Del implements [Older].
func (l *List) Del(att record.Attachment) (found bool, err error) {
	err = l.locked(func() error {
		return l.change(func(d *listDoc) error {
			for _, ifname := range []string{att.IfName, ""} {
				for addr, e := range d.Holders {
					if e.Container == att.ContainerID && e.Interface == ifname {
						delete(d.Holders, addr)
						found = true
					}
				}
				if found {
					return nil
				}
			}
			return nil
		})
	})
	return found, err
}

// Remove implements [Older].
func (l *List) Remove(addr netip.Addr) error {
	return l.change(func(d *listDoc) error {
		delete(d.Holders, addr)
		return nil
	})
}

// Renew implements [Older].
func (l *List) Renew(addr netip.Addr) error {
	return l.change(func(d *listDoc) error {
		e, there := d.Holders[addr]
		if !there {
			return fmt.Errorf("%s: %w", addr, fs.ErrNotExist)
		}
		d.set(addr, e)
		return nil
	})
}

// Block implements [Older].
func (l *List) Block(addr netip.Addr, fixed bool) error {
	return l.change(func(d *listDoc) error {
		d.set(addr, listEntry{Fixed: fixed})
		return nil
	})
}

// Unshut implements [Older].
func (l *List) Unshut() error { return os.Remove(l.path) }

// Wipes implements [Older].
func (l *List) Wipes() []Wipe {
	return []Wipe{
		{"the file", func() error {
			if err := os.Remove(l.path); err != nil && !os.IsNotExist(err) {
				return err
			}
			return nil
		}},
		{"replaced by an empty list", func() error { return writeList(l.path, newListDoc()) }},
	}
}
