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
	"github.com/bolt-local/bolt-local/internal/fsync"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// Apply implements [form.Old]. What needs room comes first and unlinking last,
// so that a full disk leaves nothing half done. What is taken back may have
// another mark.
func (d *Dir) Apply(changes []form.Change) ([]string, error) {
	for _, c := range changes { // before the first of them is made
		if err := d.unchanged(c); err != nil {
			return nil, err
		}
	}
	marks := make([]string, len(changes))
	var back []func() error // what takes back each step, in reverse
	fail := func(err error) ([]string, error) {
		for i := len(back) - 1; i >= 0; i-- {
			err = errors.Join(err, back[i]())
		}
		return nil, err
	}
	created := make([]func() error, len(changes))
	err := d.writeAll(len(changes), func(i int) (err error) {
		marks[i], created[i], err = d.create(changes[i])
		return err
	})
	for _, undo := range created {
		if undo != nil {
			back = append(back, undo)
		}
	}
	if err != nil {
		return fail(err)
	}
	for _, step := range []func(form.Change) (string, func() error, error){d.replace, d.unlink} {
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
	if err := fsync.Dir(d.path); err != nil {
		return fail(fmt.Errorf("syncing host-local's directory: %w", err))
	}
	failpoint.Hit("hostlocal.after-sync")
	return marks, nil
}

// writeAll is atOnce where files have no name while they are written. The one
// name beside the directory serves for one at a time.
func (d *Dir) writeAll(n int, write func(i int) error) error {
	if n > fewFiles {
		f, err := openUnnamed(d.path)
		if err != nil {
			return inTurn(n, write)
		}
		_ = f.Close()
	}
	return atOnce(n, write)
}

// create makes the file of an address that has none.
func (d *Dir) create(c form.Change) (mark string, undo func() error, err error) {
	if c.Had != nil || c.Want == nil {
		return "", nil, nil
	}
	path := d.file(c.Addr.String())
	mark, err = d.write(path, fileMode, content(c.Want.Attachment), false)
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
	undo = func() error { // one that named nobody comes back empty
		_, err := d.write(path, fileMode, content(c.Had.Holder.Attachment), true)
		return err
	}
	mark, err = d.write(path, fileMode, content(c.Want.Attachment), true)
	if err == nil {
		failpoint.Hit("hostlocal.replaced")
		return mark, undo, nil
	}
	if !isGone(path) {
		undo = nil
	}
	return "", undo, fmt.Errorf("reserving %s: %w", path, err)
}

func isGone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
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
	if err := unix.Unlink(path); err != nil { // never a directory
		return "", nil, fmt.Errorf("releasing %s: %w", path, err)
	}
	failpoint.Hit("hostlocal.unlinked")
	return "", func() error {
		_, _, err := d.create(form.Change{Addr: c.Addr, Want: &c.Had.Holder})
		return err
	}, nil
}

// unchanged asks that there is still the file that was read, or none.
func (d *Dir) unchanged(c form.Change) error {
	var st unix.Stat_t
	path := d.file(c.Addr.String())
	err := unix.Lstat(path, &st)
	switch {
	case err != nil && !errors.Is(err, unix.ENOENT):
		return fmt.Errorf("looking at %s: %w", path, err)
	case c.Had == nil && err == nil:
		return fmt.Errorf("%w: %s", form.ErrTaken, path)
	case c.Had != nil && err != nil:
		return fmt.Errorf("%w: %s is gone", form.ErrTaken, path)
	case c.Had != nil && markOf(&st) != c.Had.Holder.Mark:
		return fmt.Errorf("%w: %s was changed meanwhile", form.ErrTaken, path)
	}
	return nil
}

// SetLast implements [form.Old] with host-local's exact bytes.
func (d *Dir) SetLast(last map[int]netip.Addr) error {
	for set, addr := range last {
		if !addr.IsValid() {
			if err := remove(d.file(lastPrefix + strconv.Itoa(set))); err != nil {
				return err
			}
			continue
		}
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
