package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/backfill"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// Backfill is what a checkpoint is to be filled from.
type Backfill struct {
	// Configs are those of the node's networks that have this data directory.
	Configs []*ipam.Config
	// Network is the only one that is filled, "" for all.
	Network string
	// CacheDirs are libcni's caches for networks without a configuration.
	CacheDirs []string
	// Running are the sandboxes that run, NotReady the ids of all others.
	Running  []backfill.Sandbox
	NotReady []string
	// Unready tells of those of NotReady that are still there. It is asked before a
	// loss is accepted, for those that hold nothing. nil for none.
	Unready func(ids []string) ([]backfill.Sandbox, error)
	// Complete: the runtime has told of all that run, and each network that is
	// configured could be read.
	Complete bool
	// Missing names what was not told, or could not be read, where it is not Complete.
	Missing string
	// Doubt is asked before a loss is accepted, once nothing else is against it, and
	// says why not yet, "" where it may be. loss tells this one from all others,
	// also from one of another checkpoint with the same reason; it is "" where
	// nothing is lost. nil for none.
	Doubt func(loss string) string
	// BootTime is CLOCK_BOOTTIME: what is added begins its grace period.
	BootTime time.Duration
	// DryRun changes nothing.
	DryRun bool

	unreadable bool // for a dry run, which repairs nothing
}

// Filled is what became of a claim.
type Filled struct {
	backfill.Claim
	Outcome backfill.Outcome
	// Held is what was stored of the address, with another holder in a conflict.
	Held record.Allocation
}

// BackfillReport is what Backfill has done, or would do.
type BackfillReport struct {
	Filled []Filled
	// Elsewhere are the sandboxes of which no address lies in a range of a network
	// that is known.
	Elsewhere []backfill.Sandbox
	// Dropped are guesses that were wrong.
	Dropped []backfill.Guess
	// Repaired is what was wrong with the checkpoint, nil where nothing was. A
	// damaged one is repaired first.
	Repaired error
	// Accepted: allocations were missing, and now count as complete again.
	Accepted bool
	// Lost is why ADD stays refused, "" where it is not.
	Lost string
}

// Backfill records what runs on the node and is not stored, and fills in what
// records lack. What is stored wins over any witness. Where allocations were
// lost, and the runtime has told of everything, ADD is served again. A network
// that fails is in the error, and the others are filled.
func (s State) Backfill(b Backfill) (BackfillReport, error) {
	var report BackfillReport
	for _, c := range b.Configs {
		s.LegacyParents = append(s.LegacyParents, c.LegacyParent)
	}
	networks, unseen, err := s.fillable(b)
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrLost) {
		report.Repaired, b.unreadable = err, b.DryRun
		networks, unseen, err = s.repaired(b)
	}
	if err != nil {
		return report, err
	}
	var errs []error
	b.Running, errs = valid(b.Running)
	if b.Network != "" && !slices.ContainsFunc(networks, func(n backfill.Network) bool { return n.Name == b.Network }) {
		return report, ipam.Errorf(ipam.CodeConfig, "network %s is neither stored, nor configured in --conf-dir", b.Network)
	}
	for _, n := range networks {
		if failed := unseen[n.Name]; failed != nil {
			errs = append(errs, fmt.Errorf("network %s: %w", n.Name, failed))
		}
	}
	networks = slices.DeleteFunc(networks, func(n backfill.Network) bool { return unseen[n.Name] != nil })
	claims := backfill.Claims(networks, b.Running, b.NotReady)
	report.Elsewhere = elsewhere(b.Running, claims)
	for i := range claims {
		claims[i].Holder.BootTime = b.BootTime
	}
	errs = append(errs, s.fillAll(b, networks, claims, &report)...)
	errs = append(errs, s.dropWrong(b, networks, &report)...)
	left := cmp.Or(incomplete(b, networks, claims), contradicted(report.Filled))
	switch {
	case b.Network != "":
		left = "network " + b.Network + " alone was filled"
	case len(errs) > 0:
		left = "not all of it could be recorded"
	}
	errs = append(errs, s.settleLosses(b, networks, left, &report))
	return report, s.cniError(errors.Join(errs...))
}

// fillAll stores the claims, network by network.
func (s State) fillAll(b Backfill, networks []backfill.Network, claims []backfill.Claim, report *BackfillReport) (errs []error) {
	for _, n := range networks {
		mine := slices.DeleteFunc(slices.Clone(claims), func(c backfill.Claim) bool { return c.Network != n.Name })
		if len(mine) == 0 || b.Network != "" && b.Network != n.Name {
			continue
		}
		filled, err := s.fill(b, n, mine)
		report.Filled = append(report.Filled, filled...)
		if err != nil {
			errs = append(errs, fmt.Errorf("network %s: %w", n.Name, err))
		}
	}
	return errs
}

// dropWrong drops the guesses that are void by what was filled.
func (s State) dropWrong(b Backfill, networks []backfill.Network, report *BackfillReport) (errs []error) {
	var certain []backfill.Claim
	for _, f := range report.Filled {
		if f.Outcome.Stored() {
			certain = append(certain, f.Claim)
		}
	}
	for _, g := range backfill.Wrong(networks, certain) {
		if !b.DryRun {
			if err := s.dropGuess(g); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		report.Dropped = append(report.Dropped, g)
	}
	return errs
}

// repaired repairs the checkpoint from what is left of it, so that it can be
// filled. Until that is done ADD stays refused.
func (s State) repaired(b Backfill) ([]backfill.Network, map[string]error, error) {
	if b.DryRun {
		return s.described(b, map[string]stored{}), nil, nil
	}
	if _, err := s.Repair(store.Repair{}, b.CacheDirs); err != nil {
		return nil, nil, err
	}
	return s.fillable(b)
}

// valid leaves out sandboxes with an id that no container has, and the names of
// interfaces that none has: both become a part of keys and files.
func valid(running []backfill.Sandbox) (rest []backfill.Sandbox, errs []error) {
	for _, s := range running {
		if err := ipam.CheckAttachment(record.Attachment{ContainerID: s.ID, IfName: "eth0"}); err != nil {
			errs = append(errs, fmt.Errorf("a sandbox is left out: %w", err))
			continue
		}
		s.Interfaces = slices.Clone(s.Interfaces)
		for i, iface := range s.Interfaces {
			if iface.Name != "" && ipam.CheckAttachment(record.Attachment{ContainerID: s.ID, IfName: iface.Name}) != nil {
				s.Interfaces[i].Name = ""
			}
		}
		rest = append(rest, s)
	}
	return rest, errs
}

// elsewhere lists the running sandboxes of which no address lies in a known
// range.
func elsewhere(running []backfill.Sandbox, claims []backfill.Claim) []backfill.Sandbox {
	placed := map[string]bool{}
	for _, c := range claims {
		placed[c.Holder.ContainerID] = true
	}
	return slices.DeleteFunc(slices.Clone(running), func(s backfill.Sandbox) bool { return placed[s.ID] })
}

// fill stores the claims of one network.
func (s State) fill(b Backfill, n backfill.Network, claims []backfill.Claim) ([]Filled, error) {
	network := n.Name
	s.Config = byNetwork(b.Configs)[network]
	if b.DryRun {
		return s.wouldFill(b, n, claims)
	}
	var filled []Filled
	call := s.call(network)
	call.Kind, call.Enters = engine.KindBackfill, call.OldPath != ""
	if err := s.admitFirst(network, true); err != nil {
		return nil, s.cniError(err)
	}
	_, err := s.update(store.Op{Verb: "backfill", Creates: true}, call, func(tx ipam.Tx) (err error) {
		if filled, err = s.decide(n, claims, tx, tx.Put); err != nil {
			return err
		}
		sets, err := tx.Ranges()
		if err != nil || len(sets) > 0 || s.Config == nil {
			return err
		}
		return tx.SetRanges(s.Config.RangeSets)
	})
	if err != nil {
		return nil, err
	}
	return filled, nil
}

// wouldFill is fill for a dry run.
func (s State) wouldFill(b Backfill, n backfill.Network, claims []backfill.Claim) (filled []Filled, err error) {
	ignore := func(record.Allocation) error { return nil }
	if b.unreadable { // and would be repaired before
		return s.decide(n, claims, nobody{}, ignore)
	}
	err = s.View(n.Name, func(r ipam.Reader) (err error) {
		filled, err = s.decide(n, claims, r, ignore)
		return err
	})
	return filled, err
}

// decide holds the claims of a network against what r has, and calls put for what
// is to be stored.
func (s State) decide(n backfill.Network, claims []backfill.Claim, r looker, put func(record.Allocation) error) (filled []Filled, err error) {
	for _, c := range claims {
		held, taken, err := r.Get(c.Addr)
		if err != nil {
			return filled, err
		}
		if c.Holder.NetNS.Inode != 0 && !s.Namespaces.Alive(c.Holder.NetNS) {
			filled = append(filled, Filled{c, backfill.Gone, held})
			continue // the runtime's list is older than this
		}
		outcome, a := n.Storable(c).Decide(held, taken, func(a record.Allocation) bool { return s.Stale(r.Epoch(), a) || s.ended(a, c.Holder.ContainerID) })
		if outcome == backfill.Added || outcome == backfill.Completed {
			err := put(a)
			if errors.Is(err, engine.ErrAside) {
				outcome = backfill.Blocked
			} else if err != nil {
				return filled, err
			}
		}
		filled = append(filled, Filled{c, outcome, held})
	}
	return filled, nil
}

// ended tells whether an allocation is of others than a container, and their
// namespaces certainly gone: an ADD would take its address.
func (s State) ended(a record.Allocation, containerID string) bool {
	return len(a.Holders) > 0 && !slices.ContainsFunc(a.Holders, func(h record.Holder) bool {
		return h.ContainerID == containerID || !s.Namespaces.Dead(h.NetNS)
	})
}

// looker is the part of an ipam.Reader that a claim is held against.
type looker interface {
	Epoch() uint64
	Get(netip.Addr) (record.Allocation, bool, error)
}

// nobody is where nothing is held.
type nobody struct{}

func (nobody) Epoch() uint64 { return 0 }
func (nobody) Get(netip.Addr) (record.Allocation, bool, error) {
	return record.Allocation{}, false, nil
}
