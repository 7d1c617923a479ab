package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/internal/fsync"
)

// create makes a new checkpoint, whole or not at all: written beside, synced,
// renamed, and the directory synced. The caller holds the lock.
func (s *Store) create(l held, bootID string) error {
	first, err := s.createFile(l, bootID)
	if err == nil {
		// While there is room: on a full disk later ones can only be in place.
		err = writeFirstWitness(s.file(LockFile), first)
	}
	if err != nil {
		return fmt.Errorf("creating %s: %w", s.Path(), noSpace(err))
	}
	return nil
}

// createFile returns the first witness of the checkpoint that it has put in its
// place.
func (s *Store) createFile(l held, bootID string) (first witness, err error) {
	first, err = s.writeNew(bootID, newContent())
	if err != nil {
		return first, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(s.file(newCheckpointFile))
		}
	}()
	if err := s.makeDeferredDir(); err != nil {
		return first, err
	}
	if err := s.inPlace(l); err != nil {
		return first, err
	}
	if err := os.Rename(s.file(newCheckpointFile), s.Path()); err != nil {
		return first, err
	}
	failpoint.Hit("store.created")
	if err := fsync.Dir(s.dir); err != nil {
		return first, err
	}
	return first, fsync.Dir(filepath.Dir(s.dir)) // whoever has made it may have been killed
}

// writeNew writes a checkpoint with content beside the one in use, durable and
// whole or not at all. It gets an id of its own. The witness returned is the one
// to be written once it is in its place.
func (s *Store) writeNew(bootID string, c *content) (first witness, err error) {
	tmp := s.file(newCheckpointFile)
	// A creator that was killed may have left one.
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return first, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp)
		}
	}()
	db, err := bolt.Open(tmp, 0o600, &bolt.Options{
		FreelistType: bolt.FreelistArrayType,
		OpenFile: func(name string, flag int, perm os.FileMode) (*os.File, error) {
			return os.OpenFile(name, flag|os.O_EXCL|unix.O_NOFOLLOW, perm)
		},
	})
	if err != nil {
		return first, err
	}
	first.BootID = bootID
	err = db.Update(func(tx *bolt.Tx) error {
		first.Checkpoint, err = s.initialize(tx, c)
		first.Tx = uint64(tx.ID())
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return first, err
	}
	return first, setMode(tmp, 0o600) // whatever the umask
}

// initialize fills a new checkpoint, and returns its id. c may be the content of
// another one, which it replaces.
func (s *Store) initialize(tx *bolt.Tx, c *content) (id string, err error) {
	f := Format{Schema: Schema, OldestWriter: Schema, Replaces: s.lastCheckpoint()}
	if doc := c.get([]string{bucketMeta}, keyFormat); doc != nil {
		if f, err = parseFormat(doc); err == nil {
			err = f.mayWrite()
		}
		if err != nil {
			return "", err
		}
		f.Replaces = cmp.Or(s.lastCheckpoint(), f.ID)
	}
	if f.ID, err = newID(); err != nil {
		return "", err
	}
	f.Writer, f.Created = s.opts.Writer, time.Now().UTC().Truncate(time.Second)
	doc, err := f.encode()
	if err != nil {
		return "", err
	}
	c.put([]string{bucketMeta}, keyFormat, doc)
	delete(c.at(bucketMeta).values, keyCommit) // that one's own
	c.put([]string{bucketMeta, bucketStamp}, keyStampSchema1, uint64Bytes(uint64(tx.ID())))
	c.make(bucketNetworks)
	if err := c.fill(tx); err != nil {
		return "", err
	}
	meta := tx.Bucket([]byte(bucketMeta))
	commit, err := newCommit(meta) // another, as what takes back the old one is not for this file
	if err != nil {
		return "", err
	}
	return f.ID, meta.Put([]byte(keyCommit), []byte(commit))
}

// lastCheckpoint is the id of the checkpoint that the witness names, "" where
// there is none. An earlier boot may have lost it. After a power cut the witness
// may be as it was before the new checkpoint.
func (s *Store) lastCheckpoint() string {
	w, known, err := readWitness(s.file(LockFile))
	if err != nil || !known {
		return ""
	}
	return w.Checkpoint
}
