package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/record"
)

// Repair is how a checkpoint is to be repaired.
type Repair struct {
	// Deadline bounds the wait for the locks.
	Deadline time.Time
	// Backup is a file that Backup wrote, "" for none.
	Backup string
	// Accept declares that what is found is all there is.
	Accept bool
	// DryRun changes nothing.
	DryRun bool
	// Alive tells of a namespace that is there.
	Alive func(record.NetNS) bool
	// Boots are the boot ids that other files name which were written with the
	// checkpoint.
	Boots []string
	// Witnesses tells what is known beside the store's own files. migrations are
	// the documents of the networks, as far as they can be read.
	Witnesses func(migrations map[string][]byte) ([]Witness, error)
	// Changed returns a network's document for allocations that are not those of
	// its older form, so that the next call brings both together.
	Changed func(migration []byte) []byte
}

// Witness is what something beside the checkpoint knows of a network.
type Witness struct {
	Network string
	Name    string // of the witness, for people
	// Complete: the network has no allocation but these.
	Complete bool
	// Ranged: only addresses in the network's ranges count, where these are known.
	Ranged      bool
	Allocations []record.Allocation
	// Migration is the document that the network gets where none can be read.
	Migration []byte
}

// Report is what Repair has done, or would do.
type Report struct {
	// Problem is what is wrong, nil where nothing is.
	Problem error
	// Kept is the name that the damaged file has now.
	Kept string
	// Complete is a source that had everything, "" where none did.
	Complete string
	// Allocations are those of the new checkpoint.
	Allocations []Vouched
	// Lost are the networks of which allocations may be missing. ADD is refused
	// in them.
	Lost []string
	// Others: there may have been networks of which nothing is left.
	Others bool
	// Notes is what a person should know beside.
	Notes []string
}

// Repair rebuilds a damaged checkpoint, or one that has lost allocations, from
// all there is. Doing it twice is the same as once. Its error wraps ErrFormat
// where a newer version is needed.
func (s *Store) Repair(r Repair) (Report, error) {
	report, err := s.repairLocked(r)
	left := len(report.Lost) > 0 || report.Others || !exists(s.Path())
	if err == nil && r.Accept && !r.DryRun && left {
		// There was nothing left to be searched, or no checkpoint at all: then a
		// tombstone that nobody knows of may say that there was one.
		report.Lost, report.Others = nil, false
		err = s.Update(Op{Verb: "repair", Creates: true}, (*Tx).AcceptLoss)
	}
	return report, err
}

func (s *Store) repairLocked(r Repair) (Report, error) {
	bootID := s.opts.BootID()
	l, err := s.lockForRepair(r)
	if err != nil {
		return Report{}, err
	}
	defer l.Unlock()
	problem := s.examine(bootID, r.Deadline)
	if problem == nil && !exists(s.Path()) && r.names(bootID) {
		problem = fmt.Errorf("%w: %s is gone, but another file names it in this boot", ErrDamaged, s.Path())
	}
	switch {
	case problem == nil:
		left, unsearched, err := s.leftToRepair(bootID, r.Deadline)
		if err != nil || left.Problem == nil || !unsearched && r.Backup == "" {
			return left, err
		}
		problem = left.Problem
	case !errors.Is(problem, ErrDamaged), errors.Is(problem, ErrNotRegular):
		return Report{}, problem
	}
	b := rebuild{store: s, repair: r, bootID: bootID, report: Report{Problem: problem}}
	c, err := b.run()
	if err != nil || r.DryRun || b.unchanged(c) {
		return b.report, err
	}
	suffix := damagedSuffix
	if errors.Is(problem, ErrLost) {
		suffix = replacedSuffix
	}
	b.report.Kept, err = s.replace(bootID, c, Damage{Problem: problem.Error(), From: SourceRepair}, suffix)
	if err != nil {
		return b.report, fmt.Errorf("repairing %s: %w", s.Path(), noSpace(err))
	}
	return b.report, nil
}

// names tells whether another file says that this boot has written to the
// checkpoint.
func (r Repair) names(bootID string) bool { return bootID != "" && slices.Contains(r.Boots, bootID) }

// lockForRepair makes what is missing, but for a dry run.
func (s *Store) lockForRepair(r Repair) (unlocker, error) {
	switch known := r.names(s.opts.BootID()) || r.Accept; {
	case exists(s.dir):
	case !known:
		return nil, fmt.Errorf("%s: %w", s.dir, ErrNoCheckpoint)
	case r.DryRun:
		return noLock{}, nil
	default:
		if err := makeDir(s.dir, 0o700); err != nil {
			return nil, noSpace(err)
		}
	}
	l, err := s.lock(!r.DryRun, !r.DryRun, r.Deadline)
	switch {
	case err == nil:
		return l, nil
	case r.DryRun && errors.Is(err, fs.ErrNotExist):
		return noLock{}, nil // nobody writes
	}
	return nil, noSpace(err)
}

type unlocker interface{ Unlock() error }

type noLock struct{}

func (noLock) Unlock() error { return nil }

// leftToRepair tells what a sound checkpoint lacks, and whether there is a
// damaged file that was not searched for it.
func (s *Store) leftToRepair(bootID string, deadline time.Time) (left Report, unsearched bool, err error) {
	err = s.view(viewing{bootID: bootID, deadline: deadline}, func(t *Tx) error {
		if t.problem != nil {
			return t.problem
		}
		for _, network := range append(t.Networks(), "") {
			l, lost := t.lossOf(network)
			switch {
			case !lost:
				continue
			case network == "":
				left.Others = true
			default:
				left.Lost = append(left.Lost, network)
			}
			left.Problem = fmt.Errorf("%w: %s", ErrLost, l.Reason)
		}
		unsearched = slices.ContainsFunc(t.Damages(), Damage.unsearched)
		return nil
	})
	return left, unsearched, err
}

// rebuild makes one checkpoint out of several sources.
type rebuild struct {
	store  *Store
	repair Repair
	bootID string
	report Report

	sources    []source
	witnesses  []Witness
	othersLost bool // the checkpoint has a mark for networks that are not stored
}

// unchanged tells whether c says nothing that a sound checkpoint does not.
func (b *rebuild) unchanged(c *content) bool {
	if !errors.Is(b.report.Problem, ErrLost) {
		return false
	}
	now := b.sources[0].content
	return c.sameNetworks(now) && b.othersLost == b.report.Others && slices.Equal(now.lostNetworks(), c.lostNetworks())
}

func (c *content) lostNetworks() []string {
	var names []string
	for name, network := range c.at(bucketNetworks).each() {
		if network.values[keyLost] != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (b *rebuild) run() (*content, error) {
	if err := b.read(); err != nil {
		return nil, err
	}
	c := mergeRest(b.sources)
	if err := c.searched(); err != nil {
		return nil, err
	}
	var err error
	if b.repair.Witnesses != nil {
		if b.witnesses, err = b.repair.Witnesses(c.migrations()); err != nil {
			return nil, err
		}
	}
	for _, w := range b.witnesses {
		b.adopt(c, w)
	}
	b.report.Allocations = settle(b.claims(c), b.repair.Alive)
	for _, v := range b.report.Allocations {
		if err := c.putAllocation(v.Network, v.Allocation); err != nil {
			return nil, err
		}
	}
	for name := range c.at(bucketNetworks).each() {
		if !b.known(name) {
			c.changed(name, b.repair.Changed)
		}
	}
	return c, b.losses(c)
}

// claims are those of all sources and witnesses, the best first. Of what is
// known, or has a complete witness, nobody else is asked.
func (b *rebuild) claims(c *content) []claim {
	var claims []claim
	add := func(all []claim) {
		claims = append(claims, slices.DeleteFunc(all, func(c claim) bool {
			named, complete := b.completeWitness(c)
			return b.known(c.network) || complete && !named
		})...)
	}
	for i, src := range b.sources {
		all := src.content.claims(src.name, b.bootID, b.repair.Alive)
		if i == 0 && errors.Is(b.report.Problem, ErrLost) {
			claims = all // it is sound
			continue
		}
		add(all)
	}
	for _, w := range b.witnesses {
		ranges := c.ranges(w.Network)
		var all []claim
		for _, a := range w.Allocations {
			if !w.Ranged || ranges == nil || inRanges(ranges, a.Addr) {
				all = append(all, claim{w.Network, a, w.Name})
			}
		}
		add(all)
	}
	add(b.scraps(claims))
	return claims
}

// completeWitness tells whether a witness has all of a claim's network, and
// whether it names one of the claim's holders.
func (b *rebuild) completeWitness(c claim) (named, complete bool) {
	for _, w := range b.witnesses {
		if w.Network != c.network || !w.Complete {
			continue
		}
		complete = true
		for _, a := range w.Allocations {
			named = named || a.Addr == c.alloc.Addr && slices.ContainsFunc(c.alloc.Holders, func(h record.Holder) bool {
				return h.ContainerID == a.Holders[0].ContainerID
			})
		}
	}
	return named, complete
}

// changed stores what change makes of a network's document.
func (c *content) changed(network string, change func([]byte) []byte) {
	if doc := c.migration(network); doc != nil && change != nil {
		c.put([]string{bucketNetworks, network}, keyMigration, sealed(network, keyMigration, change(doc)))
	}
}

// known tells whether a sound checkpoint has everything of a network, so that
// what others say of it is out of date.
func (b *rebuild) known(network string) bool {
	if !errors.Is(b.report.Problem, ErrLost) {
		return false
	}
	n := b.sources[0].content.at(bucketNetworks, network)
	return n != nil && n.values[keyLost] == nil
}

// read reads the store's own files, the best first.
func (b *rebuild) read() error {
	s := b.store
	journal, journalErr := readJournal(s.file(JournalFile))
	if journalErr == nil {
		journalErr = s.vouches(journal)
	}
	if unread(journalErr) && !b.repair.Accept {
		return journalErr // another time it may tell everything
	}
	file, err := salvage(s.Path(), "the damaged file")
	if err != nil && !missing(err) {
		return fmt.Errorf("reading %s: %w", s.Path(), err)
	}
	if errors.Is(b.report.Problem, ErrLost) {
		file.name = "the checkpoint"
	}
	fromJournal := source{name: "the journal", content: journal.content, whole: journalErr == nil}
	if fromJournal.content == nil {
		fromJournal.content = newContent()
	}
	b.sources = []source{fromJournal, file}
	if errors.Is(b.report.Problem, errForeign) || errors.Is(b.report.Problem, ErrLost) {
		b.sources = []source{file, fromJournal} // it has what the journal has not
	}
	kept, err := s.keptFiles(mergeRest(b.sources))
	if err != nil {
		return err
	}
	b.sources = append(b.sources, kept...)
	if b.repair.Backup != "" {
		backup, err := s.readFile(b.repair.Backup, "the backup", b.repair.Deadline)
		if err != nil {
			return err
		}
		b.sources = append(b.sources, backup)
	}
	for _, src := range b.sources {
		src.content.sanitize()
	}
	b.dropAliens(journal)
	b.othersLost = b.sources[0].content.get([]string{bucketMeta}, keyLost) != nil
	b.judge(journalErr)
	return nil
}

// dropAliens leaves out what is another node's or another data directory's: it
// knows nothing of this boot while others do, and these do not know it.
func (b *rebuild) dropAliens(journal replay) {
	w, known, err := readWitness(b.store.file(LockFile))
	ids := map[string]bool{}
	if err == nil && known {
		ids[w.Checkpoint] = true
	}
	if journal.header.BootID == b.bootID {
		ids[journal.header.Checkpoint] = true
	}
	others := b.repair.names(b.bootID) || slices.ContainsFunc(b.sources, func(s source) bool { return s.content.knowsBoot(b.bootID) })
	if len(ids) == 0 && !others {
		return // nobody can tell
	}
	for i, src := range b.sources {
		if src.given || src.content.knowsBoot(b.bootID) {
			continue
		}
		if f, err := parseFormat(src.content.get([]string{bucketMeta}, keyFormat)); err == nil && !ids[f.ID] && !ids[f.Replaces] {
			b.report.Notes = append(b.report.Notes, src.name+" is another node's: nothing was taken from it")
			b.sources[i] = source{name: src.name, content: newContent()}
		}
	}
}

// unread tells whether a file is there and could not be read.
func unread(err error) bool {
	var errno unix.Errno
	return errors.As(err, &errno) && errno != unix.ENOENT && !errors.Is(err, ErrNotRegular)
}

// judge finds out whether one of the files has everything.
func (b *rebuild) judge(journalErr error) {
	problem := b.report.Problem
	boots := append(b.store.bootsOnFile(), b.repair.Boots...)
	foreign := errors.Is(problem, errForeign)
	switch {
	case errors.Is(problem, ErrLost):
	case foreign && journalErr == nil && b.sources[0].whole && b.sources[0].content.sameNetworks(b.sources[1].content):
		b.report.Complete = "the file itself: it holds what the journal tells"
	case !foreign && journalErr == nil:
		b.report.Complete = "the journal"
	case !foreign && b.bootID != "" && len(boots) > 0 && !slices.Contains(boots, b.bootID) && !slices.Contains(boots, ""):
		b.report.Complete = "none is needed: nothing was written in this boot"
	default:
		if journalErr != nil {
			b.report.Notes = append(b.report.Notes, "the journal does not tell everything: "+journalErr.Error())
		}
	}
}

// scraps are the claims of pages that nothing leads to. They count for what
// nobody else knows, and only where something is missing.
func (b *rebuild) scraps(known []claim) []claim {
	if b.report.Complete != "" {
		return nil
	}
	type key struct{ network, addr string }
	have := map[key]bool{}
	for _, c := range known {
		have[key{c.network, c.alloc.Addr.String()}] = true
	}
	var all []claim
	names := networksIn(b.sources)
	for _, w := range b.witnesses {
		names = append(names, w.Network)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, src := range b.sources {
		if src.whole {
			continue
		}
		for _, c := range src.scrapClaims(names) {
			if !have[key{c.network, c.alloc.Addr.String()}] {
				all = append(all, c)
			}
		}
	}
	return all
}

// adopt gives a network that a witness knows what it needs.
func (b *rebuild) adopt(c *content, w Witness) {
	path := []string{bucketNetworks, w.Network}
	if w.Migration != nil && c.get(path, keyMigration) == nil {
		c.put(path, keyMigration, sealed(w.Network, keyMigration, w.Migration))
	}
}

// losses marks the networks of which nobody can say that nothing is missing.
func (b *rebuild) losses(c *content) error {
	epoch := c.beginEpoch(b.bootID)
	complete := map[string]bool{}
	for _, w := range b.witnesses {
		complete[w.Network] = complete[w.Network] || w.Complete
	}
	for name, network := range c.at(bucketNetworks).each() {
		_, was := network.values[keyLost]
		was = was || b.othersLost && b.sources[0].content.at(bucketNetworks, name) == nil
		delete(network.values, keyLost)
		if b.repair.Accept || b.report.Complete != "" || complete[name] || errors.Is(b.report.Problem, ErrLost) && !was {
			continue
		}
		b.report.Lost = append(b.report.Lost, name)
		if err := c.lose(name, b.loss(epoch)); err != nil {
			return err
		}
	}
	slices.Sort(b.report.Lost)
	if meta := c.at(bucketMeta); meta != nil {
		delete(meta.values, keyLost)
	}
	if b.repair.Accept {
		c.acceptLoss(epoch)
	}
	if b.repair.Accept || b.report.Complete != "" {
		return nil
	}
	b.report.Others = true
	return c.lose("", b.loss(epoch))
}

func (b *rebuild) loss(epoch uint64) Loss {
	return Loss{Epoch: epoch, Reason: "it was repaired from what was left, and nothing of that had everything"}
}

// migrations are the documents of all networks.
func (c *content) migrations() map[string][]byte {
	docs := map[string][]byte{}
	for name, network := range c.at(bucketNetworks).each() {
		if doc, err := unseal(name, keyMigration, network.values[keyMigration]); err == nil {
			docs[name] = doc
		} else {
			docs[name] = nil
		}
	}
	return docs
}

// ranges are the stored range sets of a network, nil where there are none.
func (c *content) ranges(network string) []record.RangeSet {
	doc, err := unseal(network, keyRanges, c.get([]string{bucketNetworks, network}, keyRanges))
	var sets []record.RangeSet
	if err != nil || json.Unmarshal(doc, &sets) != nil {
		return nil
	}
	return sets
}

func inRanges(sets []record.RangeSet, addr netip.Addr) bool {
	return slices.ContainsFunc(sets, func(s record.RangeSet) bool { _, in := s.RangeOf(addr); return in })
}

// sameNetworks tells whether c and other hold the same allocations.
func (c *content) sameNetworks(other *content) bool {
	return strings.Join(c.allocationLines(), "\n") == strings.Join(other.allocationLines(), "\n")
}

func (c *content) allocationLines() []string {
	var lines []string
	for name, network := range c.at(bucketNetworks).each() {
		for key, value := range network.at(bucketAllocations).eachValue() {
			lines = append(lines, fmt.Sprintf("%q %x %x", name, key, value))
		}
	}
	slices.Sort(lines)
	return lines
}

// dropKeysOfBuckets drops keys where a bucket belongs: one bit of a page tells the
// one from the other.
func (c *content) dropKeysOfBuckets() {
	drop := func(b *content, names ...string) {
		if b != nil {
			for _, name := range names {
				delete(b.values, name)
			}
		}
	}
	drop(c, bucketMeta, bucketNetworks)
	drop(c.at(bucketMeta), bucketEpochs, bucketStamp, bucketDamage, bucketUnnumbered)
	if networks := c.at(bucketNetworks); networks != nil {
		clear(networks.values)
	}
	for _, network := range c.at(bucketNetworks).each() {
		drop(network, bucketAllocations, bucketAttachments, bucketCursors, bucketDeferred)
	}
}

// sanitize drops what a damaged file has under keys that have to be readable.
func (c *content) sanitize() {
	c.dropKeysOfBuckets()
	for name, network := range c.at(bucketNetworks).each() {
		for _, key := range []string{keyRanges, keyMigration, keyLost} {
			if value, there := network.values[key]; there {
				if _, err := unseal(name, key, value); err != nil {
					delete(network.values, key)
				}
			}
		}
		for key, value := range network.at(bucketCursors).eachValue() {
			if len(value) != addrLen {
				delete(network.at(bucketCursors).values, key)
			}
		}
	}
	for key, value := range c.at(bucketMeta, bucketEpochs).eachValue() {
		if len(value) != 8 || validBootID(key) == "" {
			delete(c.at(bucketMeta, bucketEpochs).values, key)
		}
	}
	for key, value := range c.at(bucketMeta, bucketDamage).eachValue() {
		if _, err := parseDamage(key, value); err != nil {
			delete(c.at(bucketMeta, bucketDamage).values, key)
		}
	}
	if meta := c.at(bucketMeta); meta != nil {
		if _, err := parseFormat(meta.values[keyFormat]); err != nil {
			delete(meta.values, keyFormat)
		}
		if _, err := unseal("", keyLost, meta.values[keyLost]); err != nil {
			delete(meta.values, keyLost)
		}
	}
}
