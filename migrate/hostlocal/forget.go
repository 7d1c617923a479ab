package hostlocal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bolt-local/bolt-local/internal/fsync"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// Forget removes the tombstone that says t, the zero Tombstone for none, durably, and
// what earlier steps have left beside it. Anything else in that place stays: a
// directory, another tombstone, a file of somebody else's. The error wraps
// form.ErrCannotShut where only files of others, which stay beside it, are in the
// way.
func (d *Dir) Forget(t form.Tombstone) error {
	c, err := d.Look()
	if err != nil {
		return err
	}
	if c.Shut != nil && *c.Shut == t && t != (form.Tombstone{}) {
		if err := remove(d.path); err != nil {
			return fmt.Errorf("removing the tombstone: %w", err)
		}
		if err := fsync.Dir(filepath.Dir(d.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the tombstone %s: %w", d.path, err)
		}
	}
	return d.clearBeside()
}
