package migrate

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/backfill"
	"github.com/bolt-local/bolt-local/migrate/cnicache"
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
	// Complete: the runtime has told of all that run, and each network that is
	// configured could be read.
	Complete bool
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
	networks, err := s.fillable(b)
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrLost) {
		report.Repaired, b.unreadable = err, b.DryRun
		networks, err = s.repaired(b)
	}
	if err != nil {
		return report, err
	}
	claims := backfill.Claims(networks, b.Running, b.NotReady, s.Namespaces.Identify)
	for i := range claims {
		claims[i].Holder.BootTime = b.BootTime
	}
	var errs []error
	for _, n := range networks {
		mine := slices.DeleteFunc(slices.Clone(claims), func(c backfill.Claim) bool { return c.Network != n.Name })
		if len(mine) == 0 || b.Network != "" && b.Network != n.Name {
			continue
		}
		filled, err := s.fill(b, n.Name, mine)
		report.Filled = append(report.Filled, filled...)
		if err != nil {
			errs = append(errs, fmt.Errorf("network %s: %w", n.Name, err))
		}
	}
	for _, g := range backfill.Wrong(networks, claims) {
		if !b.DryRun {
			if err := s.dropGuess(g); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		report.Dropped = append(report.Dropped, g)
	}
	if len(errs) == 0 && b.Network == "" {
		errs = append(errs, s.settleLosses(b, incomplete(b, claims), &report))
	}
	return report, cniError(errors.Join(errs...))
}

// repaired repairs the checkpoint from what is left of it, so that it can be
// filled. Until that is done ADD stays refused.
func (s State) repaired(b Backfill) ([]backfill.Network, error) {
	if b.DryRun {
		return s.described(b, map[string]stored{})
	}
	if _, err := s.Repair(store.Repair{}, b.CacheDirs); err != nil {
		return nil, err
	}
	return s.fillable(b)
}

// stored is what the checkpoint, and the old form, have of a network.
type stored struct {
	sets []record.RangeSet
	all  map[netip.Addr]record.Allocation
}

// fillable lists the networks that are configured or stored.
func (s State) fillable(b Backfill) ([]backfill.Network, error) {
	if err := s.Lost(); err != nil {
		return nil, err
	}
	known := map[string]stored{}
	configs := byNetwork(b.Configs)
	err := s.Store.Read(func(tx *store.Tx) error {
		names := tx.Networks()
		for name := range configs {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		for _, name := range names {
			s := s
			s.Config = configs[name]
			err := s.ViewIn(tx, name, false, func(v engine.View) error {
				sets, err := v.Ranges()
				if err != nil {
					return err
				}
				n := stored{sets: sets, all: map[netip.Addr]record.Allocation{}}
				known[name] = n
				return v.Each(func(a record.Allocation) error {
					if !s.Stale(tx.Epoch(), a) {
						n.all[a.Addr] = a
					}
					return nil
				})
			})
			if err != nil {
				return fmt.Errorf("network %s: %w", name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.described(b, known)
}

// described brings together what is known of each network, in the order of
// their names.
func (s State) described(b Backfill, known map[string]stored) ([]backfill.Network, error) {
	configs := byNetwork(b.Configs)
	names := slices.Collect(maps.Keys(known))
	for name := range configs {
		if _, ok := known[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	networks := make([]backfill.Network, len(names))
	for i, name := range names {
		n, cfg := known[name], configs[name]
		sets, dirs := n.sets, b.CacheDirs
		if cfg != nil {
			sets, dirs = append(slices.Clone(cfg.RangeSets), sets...), cfg.CNICacheDirs
		}
		networks[i] = backfill.Network{
			Name:   name,
			Sets:   sets,
			Cached: s.cachedIn(name, dirs),
			Stored: func(addr netip.Addr) (record.Allocation, bool) { a, ok := n.all[addr]; return a, ok },
		}
	}
	return networks, nil
}

func byNetwork(configs []*ipam.Config) map[string]*ipam.Config {
	all := map[string]*ipam.Config{}
	for _, c := range configs {
		if all[c.Network] == nil || all[c.Network].Role == ipam.Chained { // whose ranges are not known
			all[c.Network] = c
		}
	}
	return all
}

// cachedIn is all that the caches have of a network, alive or not.
func (s State) cachedIn(network string, dirs []string) []backfill.Cached {
	entries, errs := cnicache.Cache{Dirs: dirs}.Network(network)
	for _, err := range errs {
		s.Warn("libcni's cache: " + err.Error())
	}
	all := make([]backfill.Cached, len(entries))
	for i, e := range entries {
		ns := s.Namespaces.Identify(e.NetNS)
		all[i] = backfill.Cached{
			Holder: record.Holder{Attachment: e.Attachment, NetNS: ns, Pod: e.Pod},
			Addrs:  e.Addrs,
			Alive:  s.Namespaces.Alive(ns) && !s.Namespaces.IsOwn(ns),
		}
	}
	return all
}

// fill stores the claims of one network.
func (s State) fill(b Backfill, network string, claims []backfill.Claim) ([]Filled, error) {
	s.Config = byNetwork(b.Configs)[network]
	var filled []Filled
	decide := func(r looker, put func(record.Allocation) error) error {
		filled = nil
		for _, c := range claims {
			held, taken, err := r.Get(c.Addr)
			if err != nil {
				return err
			}
			outcome, a := c.Decide(held, taken, func(a record.Allocation) bool { return s.Stale(r.Epoch(), a) })
			if outcome == backfill.Added || outcome == backfill.Completed {
				err := put(a)
				if errors.Is(err, engine.ErrAside) {
					outcome = backfill.Blocked
				} else if err != nil {
					return err
				}
			}
			filled = append(filled, Filled{c, outcome, held})
		}
		return nil
	}
	if b.DryRun {
		err := s.View(network, func(r ipam.Reader) error {
			return decide(r, func(record.Allocation) error { return nil })
		})
		if b.unreadable { // and would be repaired before
			err = decide(nobody{}, func(record.Allocation) error { return nil })
		}
		return filled, err
	}
	call := s.call(network)
	call.Fills, call.Enters = true, call.OldPath != ""
	if err := s.admitFirst(network, true); err != nil {
		return nil, cniError(err)
	}
	_, err := s.update(store.Op{Verb: "backfill", Creates: true}, call, func(tx ipam.Tx) error {
		if err := decide(tx, tx.Put); err != nil {
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

// incomplete is why it is not certain that all that run are stored, "" where it
// is. A network that nobody has told of may have given out any address that lies
// in no range that is known.
func incomplete(b Backfill, claims []backfill.Claim) string {
	if !b.Complete {
		return "not every sandbox, or network configuration, could be read"
	}
	placed := map[string]bool{}
	for _, c := range claims {
		placed[c.Holder.ContainerID+" "+c.Addr.String()] = true
	}
	for _, s := range b.Running {
		addresses := 0
		for _, i := range s.Interfaces {
			for _, addr := range i.Addrs {
				addresses++
				if !placed[s.ID+" "+addr.String()] {
					return fmt.Sprintf("%s of sandbox %s lies in no range of a network that is known: name the network's configuration with --conf-dir", addr, s.ID)
				}
			}
		}
		if addresses == 0 {
			return "the runtime tells no address of sandbox " + s.ID
		}
	}
	return ""
}

// settleLosses lets ADD go on where allocations were missing, once all that run
// are stored. What a network without a configuration has given out, such as that
// of a delegate of multus, the runtime does not tell.
func (s State) settleLosses(b Backfill, incomplete string, report *BackfillReport) error {
	why := ""
	configs := byNetwork(b.Configs)
	err := s.Store.Read(func(tx *store.Tx) error {
		if l, lost := tx.Lost(); lost {
			why = l.Reason
		}
		for _, name := range tx.Networks() {
			l, lost := tx.Network(name).Lost()
			if lost {
				why = l.Reason
			}
			if lost && configs[name] == nil && incomplete == "" {
				incomplete = "network " + name + " is not configured in --conf-dir"
			}
		}
		return nil
	})
	switch {
	case b.DryRun && b.unreadable:
		report.Accepted, report.Lost = incomplete == "", incomplete
		return nil
	case err != nil:
		return err
	case why == "" && report.Repaired == nil:
		return nil
	case incomplete != "":
		report.Lost = fmt.Sprintf("%s (%s)", incomplete, why)
		return nil
	}
	report.Accepted = true
	if b.DryRun {
		return nil
	}
	return s.Store.Update(store.Op{Verb: "backfill"}, (*store.Tx).AcceptLoss)
}
