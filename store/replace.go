package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/internal/fsync"
)

// What is put behind the name of a file that is replaced, before the time.
const (
	damagedSuffix  = ".damaged-"
	replacedSuffix = ".replaced-" // it was sound
)

// replace puts a checkpoint with c in the place of the one that is there, and
// returns the name that this has now.
func (s *Store) replace(l held, bootID string, c *content, d Damage, what string) (kept string, err error) {
	now := time.Now()
	if kept, err = s.freeName(CheckpointFile, what, now); err != nil {
		return "", err
	}
	d.Time, d.Kept = now.UTC().Truncate(time.Second), kept
	if d.From == SourceOldForm { // others may find something in it
		if d.Journal, err = s.freeName(JournalFile, what, now); err != nil {
			return "", err
		}
	}
	if err := c.note(d); err != nil {
		return "", err
	}
	if err := s.makeDeferredDir(); err != nil {
		return "", err
	}
	first, err := s.writeNew(bootID, c)
	if err != nil {
		return "", err
	}
	first.BootID = c.newestBoot()
	if err := s.install(l, d, first); err != nil {
		if !exists(s.file(kept)) {
			kept = "" // nothing was replaced
		}
		return kept, err
	}
	return kept, nil
}

// freeName returns a name for a file that is replaced, "" where there is none.
func (s *Store) freeName(file, what string, now time.Time) (string, error) {
	switch _, err := os.Lstat(s.file(file)); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	}
	base := file + what + now.UTC().Format("20060102T150405Z")
	name := base
	for i := 2; i < 1000; i++ {
		_, err := os.Lstat(s.file(name))
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
	return "", fmt.Errorf("%s.*: too many files", s.file(base))
}

// install puts the checkpoint that writeNew has written in its place, after a
// last look at it. d has the names for what is there, first is the witness of the
// new one.
func (s *Store) install(l held, d Damage, first witness) (err error) {
	tmp := s.file(newCheckpointFile)
	defer func() {
		if err != nil {
			_ = os.Remove(tmp)
		}
	}()
	return s.viewBolt(tmp, time.Time{}, false, func(_ *os.File, tx *bolt.Tx) error {
		t, err := s.begin(tx, nil, first.BootID) // just written: bbolt's own
		if err == nil {
			err = t.Verify()
		}
		if err != nil {
			return err
		}
		s.Outside(func() { err = s.putInPlace(l, tx, d, first) }) // from here on there is something that was changed
		return err
	})
}

// putInPlace is install once the new checkpoint was looked at. tx sees it.
func (s *Store) putInPlace(l held, tx *bolt.Tx, d Damage, first witness) error {
	if err := s.inPlace(l); err != nil {
		return err
	}
	for _, names := range [][2]string{{CheckpointFile, d.Kept}, {JournalFile, d.Journal}} {
		if names[1] == "" {
			continue
		}
		if err := keep(s.file(names[0]), s.file(names[1])); err != nil {
			return err
		}
	}
	failpoint.Hit("store.kept")
	if err := os.Rename(s.file(newCheckpointFile), s.Path()); err != nil {
		return err
	}
	failpoint.Hit("store.replaced")
	if err := fsync.Dir(s.dir); err != nil {
		return err
	}
	header := journalHeader{Journal: journalFormat, BootID: first.BootID, Checkpoint: first.Checkpoint}
	s.journalWritten(replaceJournal(s.dir, tx, header))
	failpoint.Hit("store.journal-replaced")
	return writeFirstWitness(s.file(LockFile), first)
}

// keep gives a file another name beside its own, or instead of it where the
// file system has no hard links.
func keep(path, name string) error {
	err := os.Link(path, name)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(path, name)
}
