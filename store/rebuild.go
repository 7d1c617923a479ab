package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// rebuild makes one checkpoint out of several sources.
type rebuild struct {
	store  *Store
	repair Repair
	bootID string
	report Report

	sources    []source
	witnesses  []Witness
	sound      bool // the first source has all but what it says is lost
	othersLost bool // and it says so of networks that are not stored
	foreign    bool // see [foreign]
}

// unchanged tells whether c says nothing that a sound checkpoint does not.
func (b *rebuild) unchanged(c *content) bool {
	if !errors.Is(b.report.Problem, ErrLost) {
		return false
	}
	now := b.sources[0].content
	return c.sameNetworks(now) && c.sameNotes(now) && maps.EqualFunc(c.migrations(), now.migrations(), bytes.Equal) &&
		b.othersLost == b.report.Others && slices.Equal(now.lostNetworks(), c.lostNetworks())
}

func (b *rebuild) run() (*content, error) {
	if err := b.read(); err != nil {
		return nil, err
	}
	c := mergeRest(b.sources, b.bootID)
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
		c.adopt(w)
	}
	c.beginEpoch(b.bootID) // as losses does: what is found is of this boot
	b.report.Allocations = settle(b.claims(c), b.repair.Alive)
	for _, v := range b.report.Allocations {
		if err := c.putAllocation(v.Network, v.Allocation, b.bootID); err != nil {
			return nil, err
		}
	}
	for name := range c.at(bucketNetworks).each() {
		if !b.known(name) {
			c.updateMigration(name, b.repair.Changed)
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
		if i == 0 && b.sound {
			claims = all
			continue
		}
		add(all)
	}
	for _, w := range b.witnesses {
		ranges := c.ranges(w.Network)
		var all []claim
		for _, a := range w.Allocations {
			if !w.Ranged || ranges == nil || record.InSets(ranges, a.Addr) {
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

// known tells whether the first source has everything of a network, so that what
// others say of it is out of date.
func (b *rebuild) known(network string) bool {
	if !b.sound {
		return false
	}
	n := b.sources[0].content.at(bucketNetworks, network)
	if n == nil { // one that has lost something may lack the network
		return b.report.Complete != "" && !b.othersLost
	}
	return n.values[keyLost] == nil
}

// read reads the store's own files, the best first.
func (b *rebuild) read() error {
	s := b.store
	file, err := salvage(s.Path(), "the damaged file")
	if err != nil && !missing(err) {
		return fmt.Errorf("reading %s: %w", s.Path(), err)
	}
	journal, journalErr := readJournal(s.file(JournalFile))
	if journalErr == nil {
		journalErr = s.vouches(journal, file)
	}
	if unread(journalErr) && !b.repair.Accept {
		return journalErr // another time it may tell everything
	}
	if errors.Is(b.report.Problem, ErrLost) {
		file.name = "the checkpoint"
	}
	fromJournal := source{name: TheJournal, content: journal.content, whole: journalErr == nil}
	if fromJournal.content == nil {
		fromJournal.content = newContent()
	}
	b.sources = []source{fromJournal, file}
	b.foreign = foreign(b.report.Problem, file.content, journal.content)
	if b.foreign || errors.Is(b.report.Problem, ErrLost) {
		b.sources = []source{file, fromJournal} // it has what the journal has not
	}
	kept, err := s.keptFiles(mergeRest(b.sources, b.bootID))
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
	if lost := b.sources[0].content.get([]string{bucketMeta}, keyLost); lost != nil {
		_, err := unseal("", keyLost, lost)
		b.othersLost = b.othersLost || err != nil // a mark that cannot be read is one
	}
	boots := append(s.bootsOnFile(), b.repair.Boots...)
	for _, src := range b.sources {
		if src.misnumbered && b.bootID != "" && (src.content.knowsBoot(b.bootID) || slices.Contains(boots, b.bootID)) {
			src.content.renumber(b.bootID)
		}
		src.content.sanitize()
		src.content.endLosses(b.bootID)
	}
	b.dropAliens(journal)
	b.othersLost = b.othersLost || b.sources[0].content.get([]string{bucketMeta}, keyLost) != nil
	b.judge(journalErr)
	if b.sound && b.report.Complete != "" && !b.othersLost && len(b.sources[0].content.lostNetworks()) == 0 {
		b.sources, b.repair.Witnesses = b.sources[:1], nil // all others are out of date
	}
	return nil
}

// scraps are the claims of pages that nothing leads to. They count for what
// nobody else knows, or where their holder is alive, and only where something is
// missing.
func (b *rebuild) scraps(known []claim) []claim {
	if b.report.Complete != "" && !b.sound {
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
		for _, c := range src.scrapClaims(names, b.bootID, b.repair.Alive) {
			if !have[key{c.network, c.alloc.Addr.String()}] || anyAlive(c.alloc, b.repair.Alive) {
				all = append(all, c)
			}
		}
	}
	return all
}

// adopt gives a network that has no migration document that of a witness.
func (c *content) adopt(w Witness) {
	path := []string{bucketNetworks, w.Network}
	if w.Migration != nil && c.get(path, keyMigration) == nil {
		c.put(path, keyMigration, seal(w.Network, keyMigration, w.Migration))
	}
}
