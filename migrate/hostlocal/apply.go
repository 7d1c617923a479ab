package hostlocal

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// Apply implements [form.Old]. What needs room comes first and unlinking last,
// so that a full disk leaves nothing half done.
func (d *Dir) Apply(changes []form.Change) ([]string, error) {
	marks := make([]string, len(changes))
	var back []func() error // what takes back each step, in reverse
	fail := func(err error) ([]string, error) {
		for i := len(back) - 1; i >= 0; i-- {
			err = errors.Join(err, back[i]())
		}
		return nil, err
	}
	for _, step := range []func(form.Change) (string, func() error, error){d.create, d.replace, d.unlink} {
		for i, c := range changes {
			mark, undo, err := step(c)
			if undo != nil {
				back = append(back, undo)
			}
			if err != nil {
				return fail(err)
			}
			if mark != "" {
				marks[i] = mark
			}
		}
	}
	failpoint.Hit("hostlocal.before-sync")
	if len(back) == 0 {
		return marks, nil
	}
	if err := syncDir(d.path); err != nil {
		return fail(fmt.Errorf("syncing host-local's directory: %w", err))
	}
	failpoint.Hit("hostlocal.after-sync")
	return marks, nil
}

// create makes the file of an address that has none.
func (d *Dir) create(c form.Change) (mark string, undo func() error, err error) {
	if c.Had != nil || c.Want == nil {
		return "", nil, nil
	}
	path := d.file(c.Addr.String())
	mark, err = d.write(path, content(c.Want.Attachment), false)
	if errors.Is(err, fs.ErrExist) {
		return "", nil, fmt.Errorf("%w: %s", form.ErrTaken, path)
	}
	if err != nil {
		return "", nil, fmt.Errorf("reserving %s: %w", path, err)
	}
	failpoint.Hit("hostlocal.created")
	return mark, func() error { return os.Remove(path) }, nil
}

// replace writes another holder over the one that the file names.
func (d *Dir) replace(c form.Change) (mark string, undo func() error, err error) {
	if c.Had == nil || c.Want == nil {
		return "", nil, nil
	}
	path := d.file(c.Addr.String())
	if err := d.unchanged(c); err != nil {
		return "", nil, err
	}
	mark, err = d.write(path, content(c.Want.Attachment), true)
	if err != nil {
		return "", nil, fmt.Errorf("reserving %s: %w", path, err)
	}
	return mark, func() error {
		if c.Had.Holder.ContainerID == "" {
			return os.Remove(path) // it named nobody
		}
		_, err := d.write(path, content(c.Had.Holder.Attachment), true)
		return err
	}, nil
}

// unlink removes the file of an address.
func (d *Dir) unlink(c form.Change) (mark string, undo func() error, err error) {
	if c.Had == nil || c.Want != nil {
		return "", nil, nil
	}
	path := d.file(c.Addr.String())
	if err := d.unchanged(c); err != nil {
		return "", nil, err
	}
	if err := os.Remove(path); err != nil {
		return "", nil, fmt.Errorf("releasing %s: %w", path, err)
	}
	failpoint.Hit("hostlocal.unlinked")
	return "", func() error {
		_, _, err := d.create(form.Change{Addr: c.Addr, Want: &c.Had.Holder})
		return err
	}, nil
}

// unchanged asks that the file is still the one that was read.
func (d *Dir) unchanged(c form.Change) error {
	var st unix.Stat_t
	path := d.file(c.Addr.String())
	if err := unix.Lstat(path, &st); err != nil {
		return fmt.Errorf("%w: %s: %w", form.ErrTaken, path, err)
	}
	if markOf(&st) != c.Had.Holder.Mark {
		return fmt.Errorf("%w: %s was changed meanwhile", form.ErrTaken, path)
	}
	return nil
}

// SetLast implements [form.Old] with host-local's exact bytes.
func (d *Dir) SetLast(last map[int]netip.Addr) error {
	for set, addr := range last {
		if err := writeLast(d.path, set, addr); err != nil {
			return err
		}
	}
	return nil
}

func writeLast(dir string, set int, addr netip.Addr) error {
	path := filepath.Join(dir, lastPrefix+strconv.Itoa(set))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW|unix.O_NONBLOCK, fileMode)
	if err != nil {
		return fmt.Errorf("writing a cursor: %w", err)
	}
	_, err = f.WriteString(addr.String())
	return errors.Join(err, f.Close())
}
