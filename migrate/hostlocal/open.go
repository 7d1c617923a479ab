package hostlocal

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/internal/fsync"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// Prepare implements [form.Old]: the directory is made whole beside the
// tombstone. What others had left in the old one comes along.
func (d *Dir) Prepare(entries []form.Entry, last map[int]netip.Addr) (form.Contents, error) {
	fail := func(err error) (form.Contents, error) {
		return form.Contents{}, fmt.Errorf("preparing host-local's directory: %w", err)
	}
	if _, err := d.lookBeforeOpen(); err != nil {
		return fail(err)
	}
	if err := d.makeBeside(); err != nil {
		return fail(err)
	}
	if err := d.fillBeside(entries, last); err != nil {
		_ = d.clearBeside() // a full disk needs the room
		return fail(err)
	}
	failpoint.Hit("hostlocal.prepared")
	c, err := lookAt(d.beside())
	if err != nil {
		return fail(err)
	}
	return c, nil
}

// Prepared implements [form.Old].
func (d *Dir) Prepared() (form.Contents, error) { return lookAt(d.beside()) }

func (d *Dir) fillBeside(entries []form.Entry, last map[int]netip.Addr) error {
	err := atOnce(len(entries), func(i int) error {
		path := filepath.Join(d.beside(), entries[i].Addr.String())
		err := writeNew(path, fileMode, content(entries[i].Holder.Attachment))
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: %s is neither host-local's nor ours: move it away", form.ErrTaken, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := writeNew(filepath.Join(d.beside(), lockName), lockMode, nil); err != nil {
		return err
	}
	for set, addr := range last {
		_ = writeLast(d.beside(), set, addr) // a hint: host-local goes on without
	}
	return errors.Join(fsync.Dir(d.beside()), fsync.Dir(filepath.Dir(d.path)))
}

// lookBeforeOpen looks at what stands in the place where the directory shall be,
// and refuses to put it over what is not ours.
func (d *Dir) lookBeforeOpen() (form.Contents, error) {
	c, err := d.Look()
	switch {
	case err != nil:
		return c, err
	case c.Exists:
		return c, fmt.Errorf("%w: %s is a directory already", form.ErrTaken, d.path)
	case c.Shut != nil && *c.Shut == (form.Tombstone{}):
		return c, fmt.Errorf("%w: %s is a file that neither host-local nor bolt-local wrote: move it away", form.ErrCannotShut, d.path)
	}
	return c, nil
}

// makeBeside makes the directory beside, or empties that of an earlier step but
// for the files of others.
func (d *Dir) makeBeside() error {
	err := d.clearOurs()
	if errors.Is(err, unix.ENOTDIR) {
		if err := remove(d.beside()); err != nil {
			return err
		}
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = makeDir(d.beside())
	}
	return err
}

// Open implements [form.Old].
func (d *Dir) Open() error {
	c, err := d.lookBeforeOpen()
	if err != nil {
		return err
	}
	switch info, err := os.Lstat(d.beside()); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("opening %s: %w", d.path, err)
	case err != nil || !info.IsDir():
		return fmt.Errorf("opening %s: no directory was prepared at %s", d.path, d.beside())
	}
	failpoint.Hit("hostlocal.before-open")
	if c.Shut != nil {
		err = d.exchange()
	} else {
		err = os.Rename(d.beside(), d.path)
	}
	if err != nil {
		return err
	}
	failpoint.Hit("hostlocal.opened")
	if err := d.syncSwap(); err != nil {
		return err
	}
	_ = remove(d.beside()) // the tombstone; Sync removes it else
	return nil
}
