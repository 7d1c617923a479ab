package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/pages"
)

// inspected is a file that was looked at before bbolt maps it.
type inspected struct {
	pages.Meta
	whole bool // at all of its pages
}

// inspectFile looks at the checkpoint before bbolt maps it: at all pages where
// they are few, whole is asked for, or a call before was given up. A missing file
// is an error that wraps fs.ErrNotExist. With an error that wraps errContent bbolt can read it.
func (s *Store) inspectFile(write, whole bool) (inspected, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	f, err := openRegular(s.Path(), flag)
	if errors.Is(err, ErrNotRegular) {
		return inspected{}, fmt.Errorf("%w: %s is %w", ErrDamaged, s.Path(), ErrNotRegular)
	}
	if err != nil {
		return inspected{}, err
	}
	defer f.Close()
	suspected := s.suspected()
	p, err := inspect(f, whole || suspected)
	if err == nil && suspected && write {
		s.trust()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", s.Path(), err)
	}
	return p, err
}

func inspect(f *os.File, whole bool) (inspected, error) {
	info, err := f.Stat()
	if err != nil {
		return inspected{}, err
	}
	m, err := pages.ReadMeta(f, info.Size())
	p := inspected{m, whole || m.HighWater <= scanPages}
	switch {
	case errors.Is(err, pages.ErrDamaged):
		return p, fmt.Errorf("%w: %w", ErrDamaged, err)
	case err != nil || !p.whole:
		return p, err
	}
	return p, scan(f, m)
}

// lost tells whether a missing checkpoint was there before in this boot. Of
// another boot it may be missing: nothing in it would be alive.
func (s *Store) lost(bootID string) error {
	for _, boot := range s.bootsOnFile() {
		// Without the lock somebody may make it meanwhile, before lock and journal.
		if (boot == bootID || bootID == "" || boot == "") && !s.Exists() {
			return fmt.Errorf("%w: %s is gone, but this boot has written to it", ErrDamaged, s.Path())
		}
	}
	return nil
}

// Lost is why a checkpoint that is missing is damage, nil where it may be.
func (s *Store) Lost() error {
	if s.Exists() {
		return nil
	}
	return s.lost(s.opts.BootID())
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

// writtenBefore tells whether only boots before this one have written, by the boot
// ids on file: "" is one that could not be read, and may be this one's.
func writtenBefore(boots []string, bootID string) bool {
	return bootID != "" && len(boots) > 0 && !slices.Contains(boots, bootID) && !slices.Contains(boots, "")
}

// checkOpen holds the opened file against the open rules, its stamp, and what
// the witness and the journal remember. fileTx is the file's last transaction. It
// returns what the journal's first and last line say.
func (s *Store) checkOpen(t *Tx, bootID string, fileTx uint64) (journalState, error) {
	if err := t.format.mayWrite(); err != nil {
		return journalState{}, fmt.Errorf("%s: %w", s.Path(), err)
	}
	if err := s.checkStamp(t, fileTx); err != nil {
		return journalState{}, err
	}
	if t.meta != nil {
		return journalState{}, fmt.Errorf("%w: %s: %w", ErrDamaged, s.Path(), t.meta)
	}
	if err := s.checkWitness(t, fileTx); err != nil {
		return journalState{}, err
	}
	return s.checkJournal(t.format, bootID, fileTx)
}

// checkStamp tells whether another program has committed to the file. Where the
// witness has the number of the last transaction, the stamp may be what is damaged,
// see [foreign].
func (s *Store) checkStamp(t *Tx, fileTx uint64) error {
	stamp, err := readStamp(t.bolt)
	if err == nil && stamp == fileTx {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("its last transaction is %d, ours was %d", fileTx, stamp)
	}
	what := errForeign
	if s.lockHas(fileTx) {
		what = errDoubtful
	}
	return fmt.Errorf("%w: %s %w (%w)", ErrDamaged, s.Path(), what, err)
}

// lockHas tells whether the witness has this number as that of the last transaction.
func (s *Store) lockHas(fileTx uint64) bool {
	w, known, err := readWitness(s.file(LockFile))
	return err == nil && known && w.Tx == fileTx
}

func (s *Store) checkWitness(t *Tx, fileTx uint64) error {
	format, boot := t.format, t.epochs.newestBoot
	w, ok, err := readWitness(s.file(LockFile))
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if ok && format.Replaces != "" && w.Checkpoint == format.Replaces {
		return nil // the call that replaced it was killed
	}
	if ok && w.Checkpoint != format.ID {
		return fmt.Errorf("%w: %s is not the file that was used last (its id is %s, not %s)", ErrDamaged, s.Path(), format.ID, w.Checkpoint)
	}
	if ok && w.Tx > fileTx {
		return fmt.Errorf("%w: %s went back to an older state (transaction %d, but %d was written)", ErrDamaged, s.Path(), fileTx, w.Tx)
	}
	// That of a new checkpoint is written before any boot has a number.
	if ok && w.Checkpoint == format.ID && w.Tx == fileTx && boot != "" && w.BootID != boot {
		return fmt.Errorf("%w: %s has boot %q as its newest, but %q has written to it", ErrDamaged, s.Path(), boot, w.BootID)
	}
	return nil
}

// checkJournal: a journal that is ahead of the file proves that the file went
// back, and one of this boot that names another checkpoint that it was
// replaced. A journal that cannot be read is written anew by the next commit.
func (s *Store) checkJournal(format Format, bootID string, fileTx uint64) (journalState, error) {
	j, ok, err := readJournalState(s.file(JournalFile))
	if err != nil || !ok {
		return journalState{}, nil
	}
	if c := j.header.Checkpoint; c != format.ID && (c != format.Replaces || c == "") && j.header.BootID == bootID && bootID != "" {
		return j, fmt.Errorf("%w: %s is not the file that this boot has written to (its id is %s, the journal's %s)", ErrDamaged, s.Path(), format.ID, j.header.Checkpoint)
	}
	if j.header.Checkpoint == format.ID && j.last > fileTx && lastLineIsWhole(s.file(JournalFile)) {
		return j, fmt.Errorf("%w: %s went back to an older state (transaction %d, but the journal has %d)", ErrDamaged, s.Path(), fileTx, j.last)
	}
	return j, nil
}

// errForeign: what another program wrote is in no journal of ours.
var errForeign = errors.New("was written by another program")

// errDoubtful: the stamp is not the last transaction, of which the witness has the
// number.
var errDoubtful = errors.New("was written by another program, or an older page stands in it")

// foreign tells whether another program may have written what the journal has not.
// Where the file had gone back before, its transaction may have the number that ours
// had; where the networks are those of the journal, the page of meta is an older one.
func foreign(problem error, file, journal *content) bool {
	return errors.Is(problem, errForeign) || errors.Is(problem, errDoubtful) && !file.at(bucketNetworks).equal(journal.at(bucketNetworks))
}

func readStamp(tx *bolt.Tx) (uint64, error) {
	meta := tx.Bucket([]byte(bucketMeta))
	if meta == nil || meta.Bucket([]byte(bucketStamp)) == nil {
		return 0, fmt.Errorf("%w: it has no stamp", ErrDamaged)
	}
	return bytesUint64(meta.Bucket([]byte(bucketStamp)).Get([]byte(keyStampSchema1)))
}

// readFormat reads meta/format. What cannot be read there may be a newer
// version's; where the witness has the number of the last transaction, it is damage.
func (s *Store) readFormat(tx *bolt.Tx) (Format, error) {
	var doc []byte
	if meta := tx.Bucket([]byte(bucketMeta)); meta != nil {
		doc = meta.Get([]byte(keyFormat))
	}
	f, err := parseFormat(doc)
	if err == nil {
		return f, nil
	}
	last := uint64(tx.ID())
	if tx.Writable() {
		last--
	}
	if s.lockHas(last) {
		return f, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	return f, err
}
