package store

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/store/pages"
)

// Heal is what a caller that has met damage knows beside the store's own files.
type Heal struct {
	// Deadline bounds the wait for the locks.
	Deadline time.Time
	// Boots are the boot ids that other files name which were written with the
	// checkpoint.
	Boots []string
	// Network is that of the call. Where Complete is not nil it tells whether an
	// older form has all of it, so that it needs nothing of the damaged file.
	// migration is the document stored with the network, nil where it cannot be
	// read any more.
	Network  string
	Complete func(migration []byte) bool
	// Unseen is why the older form could not be looked at.
	Unseen error
}

// Heal looks at the whole checkpoint and makes it whole again where something
// is left that is complete: the journal; else, in a new boot, nothing, as nothing
// in the old file is alive; else the older form of h.Network, and all other
// networks are lost until the next boot. The damaged file is kept. It returns
// nil without doing anything where another call has healed it. Where nothing is
// complete the error says what was damaged and wraps ErrDamaged, and the files
// are as before.
func (s *Store) Heal(h Heal) error {
	bootID := s.opts.BootID()
	l, err := s.lock(true, true, h.Deadline)
	if err != nil {
		return noSpace(err)
	}
	defer l.Unlock()
	problem := s.examine(bootID, h.Deadline)
	if !errors.Is(problem, ErrDamaged) || errors.Is(problem, ErrNotRegular) {
		return problem
	}
	c, from, err := s.complete(bootID, h, problem)
	if err != nil {
		return fmt.Errorf("%w; it cannot be healed: %w", problem, err)
	}
	d := Damage{Problem: problem.Error(), From: from}
	if from == SourceOldForm {
		d.Network = h.Network
	}
	kept, err := s.replace(l, bootID, c, d, damagedSuffix)
	if err != nil {
		return fmt.Errorf("%w; healing it: %w", problem, noSpace(err))
	}
	s.opts.Warn(fmt.Sprintf("%v; %s%s", problem, healed(d), keptAs(kept)))
	return nil
}

func healed(d Damage) string {
	switch d.From {
	case SourceJournal:
		return "everything was taken over from the journal"
	case SourceOldForm:
		return "network " + d.Network + " is taken over from its older form; all other networks are lost until the next boot, or until a repair finds them"
	}
	return "it is begun anew, as nothing of an earlier boot is alive"
}

func keptAs(kept string) string {
	if kept == "" {
		return ""
	}
	return "; the damaged file is kept as " + kept
}

// examine reads the whole checkpoint, of any size, and returns what is wrong
// with it.
func (s *Store) examine(bootID string, deadline time.Time) error {
	return s.view(viewing{bootID: bootID, deadline: deadline, whole: true}, func(t *Tx) error { return t.problem })
}

// complete returns the content of a checkpoint that has all that the damaged
// one had and that is of any use.
func (s *Store) complete(bootID string, h Heal, problem error) (*content, Source, error) {
	r, err := readJournal(s.file(JournalFile))
	file, fileErr := salvage(s.Path(), "")
	theirs := foreign(problem, file.content, r.content)
	switch {
	case err != nil:
	case theirs:
		err = fmt.Errorf("%s does not tell what that was", s.file(JournalFile))
	default:
		err = s.vouches(r, file)
	}
	if err == nil {
		return r.content, SourceJournal, nil
	}
	boots := append(s.bootsOnFile(), h.Boots...)
	if fileErr == nil && file.content.knowsBoot(bootID) {
		boots = append(boots, bootID) // lock and journal may be another's
	}
	// Another program may have written in this boot, and named it nowhere.
	if !theirs && writtenBefore(boots, bootID) {
		return notesOf(r, file), SourceNewBoot, nil
	}
	r, file = s.withoutAliens(r, file, bootID)
	migration := r.content.lastMigration(h.Network)
	if migration == nil {
		migration = file.content.lastMigration(h.Network)
	}
	if h.Complete != nil && h.Complete(migration) {
		return s.fromOldForm(bootID, h, r, file)
	}
	if h.Unseen != nil {
		err = fmt.Errorf("%w; %w", err, h.Unseen)
	}
	return nil, "", err
}

// withoutAliens leaves out what is another node's, where the lock is this boot's: one
// that was put in the place of ours tells nothing of whose the others are.
func (s *Store) withoutAliens(r replay, file source, bootID string) (replay, source) {
	w, known, err := readWitness(s.file(LockFile))
	if err != nil || !known || w.BootID != bootID {
		return r, file
	}
	journal := source{content: r.content}
	ids := s.ourIDs([]source{journal, file}, r.header, bootID)
	if journal.alien(ids, bootID) {
		r = replay{}
	}
	if file.alien(ids, bootID) {
		file = source{}
	}
	return r, file
}

// fromOldForm returns the content of a checkpoint that comes of one network's
// older form alone. What can be read of the others tells later what of theirs is
// to be believed.
func (s *Store) fromOldForm(bootID string, h Heal, r replay, file source) (*content, Source, error) {
	known := []source{{content: r.content}, file}
	contested := contestedIn(known, bootID)
	if addr, is := contested[h.Network]; is {
		return nil, "", fmt.Errorf("%s of network %s has several holders, of whom the older form can name one", addr, h.Network)
	}
	c := notesOf(r, file)
	if bootID == "" { // once its id can be read this is no new boot, which would end the loss
		c.make(bucketMeta, bucketEpochs).fillIn(mergeRest(known, bootID).at(bucketMeta, bucketEpochs))
	}
	l := Loss{Epoch: c.beginEpoch(bootID), Reason: "a damaged checkpoint may have had it, and nothing that was left has all of that"}
	l.Migrations = file.content.migrations()
	maps.Copy(l.Migrations, r.content.migrations()) // the journal is ahead
	maps.DeleteFunc(l.Migrations, func(network string, doc []byte) bool { return doc == nil || network == h.Network })
	l.Contested = slices.Sorted(maps.Keys(contested))
	return c, SourceOldForm, c.lose("", l)
}

// notesOf is the content of a checkpoint that has nothing but what tells of former
// damage, until somebody acknowledges it.
func notesOf(r replay, file source) *content {
	c := newContent()
	for _, known := range []*content{file.content, r.content} {
		for key, value := range known.at(bucketMeta, bucketDamage).eachValue() {
			if _, err := parseDamage(key, value); err == nil {
				c.put([]string{bucketMeta, bucketDamage}, key, value)
			}
		}
	}
	return c
}

// vouches returns why a journal does not have all that callers were told. file
// is what could be read of the checkpoint.
func (s *Store) vouches(r replay, file source) error {
	path, lock := s.file(JournalFile), s.file(LockFile)
	w, known, err := readWitness(lock)
	switch {
	case err != nil:
		return err
	case r.broken != nil:
		return r.broken
	case !r.whole:
		return fmt.Errorf("%s: its snapshot is not whole", path)
	case known && w.Checkpoint != r.header.Checkpoint:
		return fmt.Errorf("%s is another checkpoint's", path)
	case known && w.Tx > r.last:
		return fmt.Errorf("%s ends with transaction %d, but %d was answered", path, r.last, w.Tx)
	}
	if err := r.content.unreadable(); err != nil {
		return fmt.Errorf("%s has what cannot be read: %w", path, err)
	}
	bootID := s.opts.BootID()
	ofBoot := r.header.BootID == bootID
	id := file.id()
	last, readable := lastTx(s.Path())
	switch {
	// Both may be an older copy. In one boot the file is one transaction ahead at
	// most: that of a call which was killed before it told anybody.
	case known && ofBoot && readable && last > r.last+1 && (id == "" || id == r.header.Checkpoint):
		return fmt.Errorf("%s and %s end with transaction %d, and %s with %d", path, lock, r.last, s.Path(), last)
	// Or both another node's.
	case known && !ofBoot && file.content.knowsBoot(bootID) && !(id == r.header.Checkpoint && readable && last <= r.last+1):
		return fmt.Errorf("%s and %s are of another boot than this, and %s is of this", path, lock, s.Path())
	case known:
		return nil
	}
	// Without the witness the file has to tell that nothing came after.
	switch {
	case !ofBoot, id != "" && id != r.header.Checkpoint:
		return fmt.Errorf("%s is another boot's, or another checkpoint's", path)
	case r.torn: // whoever wrote that line may have been answered, or not
		return fmt.Errorf("%s: its last line is cut off", path)
	case !readable:
		return fmt.Errorf("nothing tells whether %s has everything: neither %s nor %s can be read", path, lock, s.Path())
	case last > r.last:
		return fmt.Errorf("%s ends with transaction %d, and %s with %d", path, r.last, s.Path(), last)
	}
	return nil
}

// lastTx is the last transaction that a damaged file may have had.
func lastTx(path string) (tx uint64, readable bool) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	return pages.LastTx(f)
}
