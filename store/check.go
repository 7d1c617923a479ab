package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// inspectFile runs inspect on the checkpoint. A missing file is an error that
// wraps fs.ErrNotExist.
func (s *Store) inspectFile(write bool) (pages, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	f, err := os.OpenFile(s.Path(), flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, unix.ELOOP):
		return pages{}, fmt.Errorf("%w: %s is a symbolic link", ErrDamaged, s.Path())
	case errors.Is(err, unix.EISDIR):
		return pages{}, fmt.Errorf("%w: %s is a directory", ErrDamaged, s.Path())
	}
	if err != nil {
		return pages{}, err
	}
	defer f.Close()
	p, err := inspect(f)
	if err != nil {
		return pages{}, fmt.Errorf("%s: %w", s.Path(), err)
	}
	return p, nil
}

// lost tells whether a missing checkpoint was there before in this boot. Of
// another boot it may be missing: nothing in it would be alive.
func (s *Store) lost(bootID string) error {
	for _, boot := range s.bootsOnFile() {
		if boot == bootID || bootID == "" || boot == "" {
			return fmt.Errorf("%w: %s is gone, but this boot has written to it", ErrDamaged, s.Path())
		}
	}
	return nil
}

// bootsOnFile are the boot ids that the lock and the journal name.
func (s *Store) bootsOnFile() []string {
	var boots []string
	if w, ok, err := readWitness(s.file(LockFile)); err == nil && ok {
		boots = append(boots, w.BootID)
	}
	if j, ok, err := readJournalState(s.file(JournalFile)); err == nil && ok {
		boots = append(boots, j.header.BootID)
	}
	return boots
}

// checkOpen holds the opened file against the open rules, its stamp, and what
// the witness and the journal remember. fileTx is the file's last transaction.
func (s *Store) checkOpen(tx *bolt.Tx, format Format, fileTx uint64) error {
	if err := format.mayWrite(); err != nil {
		return fmt.Errorf("%s: %w", s.Path(), err)
	}
	stamp, err := readStamp(tx)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path(), err)
	}
	if stamp != fileTx {
		return fmt.Errorf("%w: %s was written by another program (its last transaction is %d, ours was %d)", ErrDamaged, s.Path(), fileTx, stamp)
	}
	w, ok, err := readWitness(s.file(LockFile))
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if ok && w.Checkpoint != format.ID {
		return fmt.Errorf("%w: %s is not the file that was used last (its id is %s, not %s)", ErrDamaged, s.Path(), format.ID, w.Checkpoint)
	}
	if ok && w.Tx > fileTx {
		return fmt.Errorf("%w: %s went back to an older state (transaction %d, but %d was written)", ErrDamaged, s.Path(), fileTx, w.Tx)
	}
	return nil
}

func readStamp(tx *bolt.Tx) (uint64, error) {
	meta := tx.Bucket([]byte(bucketMeta))
	if meta == nil || meta.Bucket([]byte(bucketStamp)) == nil {
		return 0, fmt.Errorf("%w: it has no stamp", ErrDamaged)
	}
	return bytesUint64(meta.Bucket([]byte(bucketStamp)).Get([]byte(keyStampSchema1)))
}

func readFormat(tx *bolt.Tx) (Format, error) {
	meta := tx.Bucket([]byte(bucketMeta))
	if meta == nil {
		return parseFormat(nil)
	}
	return parseFormat(meta.Get([]byte(keyFormat)))
}
