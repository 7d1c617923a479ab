package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// copied is a copy of the checkpoint, durable, that nobody goes by yet.
type copied struct {
	path                  string
	networks, allocations int
	bytes                 int64
}

// String begins a sentence.
func (c copied) String() string {
	return fmt.Sprintf("Copied %s with %s, %d bytes,",
		wording.Counted(c.networks, "network", "networks"), wording.Counted(c.allocations, "allocation", "allocations"), c.bytes)
}

func (c copied) remove() { _ = os.RemoveAll(filepath.Dir(c.path)) }

// copyCheckpoint writes a copy to a new directory in parent, "" for that of
// temporary files, and reads it again. Its owner removes it.
func (a *app) copyCheckpoint(parent string) (c copied, err error) {
	dir, err := os.MkdirTemp(parent, ".bolt-local-backup-")
	if err != nil {
		return c, fmt.Errorf("making room for the backup: %w", err)
	}
	c.path = filepath.Join(dir, store.CheckpointFile) // so that a store reads it
	defer func() {
		if err != nil {
			c.remove()
		}
	}()
	if err := a.writeCopy(c.path); err != nil {
		return c, err
	}
	info, err := os.Stat(c.path)
	if err != nil {
		return c, err
	}
	c.bytes = info.Size()
	if err := c.count(); err != nil {
		return c, fmt.Errorf("reading the copy: %w", err)
	}
	return c, nil
}

func (a *app) writeCopy(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	err = a.store(ipam.ReadTimeout).Backup(f)
	if err == nil {
		err = errors.Join(f.Chmod(0o600), f.Sync()) // whatever the umask
	}
	err = errors.Join(err, f.Close())
	if errors.Is(err, store.ErrDamaged) {
		return fmt.Errorf("%w; nothing was copied: see `%s`", err, a.sources(nil).Command(a.dataDir, "repair", "--dry-run"))
	}
	return err
}

// count reads all of the copy.
func (c *copied) count() error {
	return store.New(filepath.Dir(c.path), store.Options{}).ReadWhole(func(tx *store.Tx) error {
		for _, name := range tx.Networks() {
			c.networks++
			err := tx.Network(name).Each(func(record.Allocation) error {
				c.allocations++
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
