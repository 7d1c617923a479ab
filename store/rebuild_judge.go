package store

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// dropAliens leaves out what is another node's or another data directory's.
func (b *rebuild) dropAliens(journal replay) {
	known := b.repair.names(b.bootID) || slices.ContainsFunc(b.sources, func(s source) bool { return s.content.knowsBoot(b.bootID) })
	ids := b.store.ourIDs(b.sources, journal.header, b.bootID)
	if len(ids) == 0 { // a lock of another boot says less than what this boot has written to
		if w, is, err := readWitness(b.store.file(LockFile)); err == nil && is {
			ids[w.Checkpoint] = true
		}
	}
	if len(ids) == 0 && !known {
		return // nobody can tell
	}
	for i, src := range b.sources {
		if src.alien(ids, b.bootID) {
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
	if slices.ContainsFunc(b.sources, func(s source) bool { return s.content.knowsBoot(b.bootID) }) {
		boots = append(boots, b.bootID) // lock and journal may be another's
	}
	switch {
	case errors.Is(problem, ErrLost):
		b.sound = true
	case b.foreign && journalErr == nil && b.sources[0].whole && b.sources[0].content.sameNetworks(b.sources[1].content):
		b.report.Complete, b.sound = "the file itself: it holds what the journal tells", true
	case !b.foreign && journalErr == nil:
		b.report.Complete, b.sound = TheJournal, true
	case !b.foreign && writtenBefore(boots, b.bootID):
		b.report.Complete = "none is needed: nothing was written in this boot"
	default:
		if journalErr != nil {
			b.report.Notes = append(b.report.Notes, "the journal does not tell everything: "+journalErr.Error())
		}
	}
}

// losses marks the networks of which nobody can say that nothing is missing.
func (b *rebuild) losses(c *content) error {
	epoch := c.beginEpoch(b.bootID)
	complete := map[string]bool{}
	for _, w := range b.witnesses {
		complete[w.Network] = complete[w.Network] || w.Complete
	}
	first := b.sources[0].content
	for name, network := range c.at(bucketNetworks).each() {
		delete(network.values, keyLost)
		was := first.get([]string{bucketNetworks, name}, keyLost) != nil || b.othersLost && first.at(bucketNetworks, name) == nil
		found := complete[name] || b.sound && !was || b.report.Complete != "" && !b.sound
		if b.repair.Accept || found {
			continue
		}
		b.report.Lost = append(b.report.Lost, name)
		if err := c.lose(name, b.loss(name, epoch)); err != nil {
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
	found := b.report.Complete != ""
	if b.sound {
		found = !b.othersLost
	}
	if b.repair.Accept || found {
		return nil
	}
	b.report.Others = true
	return c.lose("", b.loss("", epoch))
}

// loss is that of a network, "" for all that are not stored. One that was known
// before keeps its reason.
func (b *rebuild) loss(network string, epoch uint64) Loss {
	l := Loss{Epoch: epoch, Reason: "it was repaired from what was left, and nothing of that had everything"}
	if !b.sound {
		return l
	}
	for _, name := range []string{network, ""} {
		if was, err := parseLoss(name, b.sources[0].content.get(lossPath(name), keyLost)); err == nil {
			l.Reason = was.Reason
			if network == "" {
				l.Migrations, l.Contested = was.Migrations, was.Contested
			}
			break
		}
	}
	return l
}
