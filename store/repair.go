package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/store/record"
)

// Repair is how a checkpoint is to be repaired.
type Repair struct {
	// Deadline bounds the wait for the locks.
	Deadline time.Time
	// Backup is a file that Backup wrote, "" for none.
	Backup string
	// Again: sources are named that a repair before may not have had.
	Again bool
	// Accept declares that what is found is all there is.
	Accept bool
	// DryRun changes nothing.
	DryRun bool
	// Alive tells of a namespace that is there.
	Alive func(record.NetNS) bool
	// Boots are the boot ids that other files name which were written with the
	// checkpoint.
	Boots []string
	// Shut are the networks that another file names which was written with the
	// checkpoint, and in this boot: ADD is refused in one that is not stored, or of
	// which it is not stored where its move stands.
	Shut []string
	// Witnesses tells what is known beside the store's own files. migrations are
	// the documents of the networks, as far as they can be read.
	Witnesses func(migrations map[string][]byte) ([]Witness, error)
	// Changed returns a network's document for allocations that are not those of
	// its older form, so that the next call brings both together.
	Changed func(migration []byte) []byte
	// Elsewhere tells by a network's document that its allocations are kept in its older
	// form alone, so that nothing that is put into the checkpoint counts.
	Elsewhere func(migration []byte) bool
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
	// Complete is a source that had everything, such as [TheJournal], "" where none
	// did.
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

// TheJournal is what a report calls it.
const TheJournal = "the journal"

// Repair rebuilds a damaged checkpoint, or one that has lost allocations, from
// all there is. Doing it twice is the same as once. Its error wraps ErrFormat
// where a newer version is needed.
func (s *Store) Repair(r Repair) (Report, error) {
	report, err := s.repairLocked(r)
	if err == nil && r.Accept && !r.DryRun && (len(report.Lost) > 0 || report.Others) {
		report.Lost, report.Others = nil, false // there was nothing left to be searched
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
	problem, others := s.examine(bootID, r.Deadline), false
	if problem == nil && !exists(s.Path()) && r.names(bootID) {
		problem = fmt.Errorf("%w: %s is gone, but another file names it in this boot", ErrDamaged, s.Path())
	}
	switch {
	case problem == nil && !exists(s.Path()): // nor anything to be accepted
		return Report{}, fmt.Errorf("%s: %w", s.dir, ErrNoCheckpoint)
	case problem == nil:
		left, unsearched, err := s.leftToRepair(bootID, r)
		if err != nil || left.Problem == nil || !unsearched && !r.Again && r.Backup == "" {
			return left, err
		}
		problem, others = left.Problem, left.Others
	case !errors.Is(problem, ErrDamaged), errors.Is(problem, ErrNotRegular):
		return Report{}, problem
	}
	b := rebuild{store: s, repair: r, bootID: bootID, report: Report{Problem: problem}, othersLost: others}
	c, err := b.run()
	if err != nil || r.DryRun || b.unchanged(c) {
		return b.report, err
	}
	suffix := damagedSuffix
	if errors.Is(problem, ErrLost) {
		suffix = replacedSuffix
	}
	b.report.Kept, err = s.replace(l, bootID, c, Damage{Problem: problem.Error(), From: SourceRepair}, suffix)
	if err != nil {
		return b.report, fmt.Errorf("repairing %s: %w", s.Path(), noSpace(err))
	}
	return b.report, nil
}

// names tells whether another file says that this boot has written to the
// checkpoint.
func (r Repair) names(bootID string) bool { return bootID != "" && slices.Contains(r.Boots, bootID) }

// lockForRepair makes what is missing, but for a dry run.
func (s *Store) lockForRepair(r Repair) (held, error) {
	switch {
	case exists(s.dir):
	case !r.names(s.opts.BootID()):
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

// missing tells what this boot has of one of these networks and the checkpoint does
// not: the network, or where its move stands. It is nil where nothing is missing, or
// where it is accepted that something may be.
func (t *Tx) missing(networks []string) (what error, whole bool) {
	if t.Accepted() {
		return nil, false
	}
	for _, name := range networks {
		n := t.Network(name)
		if !n.Exists() {
			return fmt.Errorf("%w: this boot has allocations of network %s, which is not stored", ErrLost, name), true
		}
		if doc, err := n.Migration(); doc == nil && err == nil {
			what = fmt.Errorf("%w: the move of network %s is not stored, of which there is a tombstone of this boot", ErrLost, name)
		}
	}
	return what, false
}

// leftToRepair tells what a sound checkpoint lacks, and whether there is a
// damaged file that was not searched for it.
func (s *Store) leftToRepair(bootID string, r Repair) (left Report, unsearched bool, err error) {
	err = s.view(viewing{bootID: bootID, deadline: r.Deadline}, func(t *Tx) error {
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
		unsearched = slices.ContainsFunc(t.Damages(), Damage.Unsearched)
		if what, whole := t.missing(r.Shut); what != nil {
			left.Others, unsearched = left.Others || whole, true
			left.Problem = what
		}
		return nil
	})
	return left, unsearched, err
}
