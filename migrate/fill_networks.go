package migrate

import (
	"cmp"
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

// stored is what the checkpoint, and the old form, have of a network.
type stored struct {
	phase engine.Phase
	sets  []record.RangeSet
	all   map[netip.Addr]record.Allocation
	ids   map[string]bool // of all holders
}

// fillable lists the networks that are configured or stored, and why some of
// them cannot be looked at.
func (s State) fillable(b Backfill) (_ []backfill.Network, unseen map[string]error, _ error) {
	if err := s.Lost(); err != nil {
		return nil, nil, err
	}
	unseen = map[string]error{}
	s.Deadline = time.Now().Add(ipam.ReadTimeout) // for all old forms together, while the lock is held
	known := map[string]stored{}
	configs := byNetwork(b.Configs)
	err := s.Store.Read(func(tx *store.Tx) error {
		if l, lost := tx.Lost(); lost && !b.DryRun && slices.ContainsFunc(tx.Damages(), store.Damage.Unsearched) {
			return fmt.Errorf("%w: %s", store.ErrLost, l.Reason)
		}
		names := tx.Networks()
		for name := range configs {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		for _, name := range names {
			s := s
			s.Config = configs[name]
			if err := s.nested(name); err != nil { // or a backfill would enter where no ADD can
				unseen[name], known[name] = err, stored{}
				continue
			}
			err := s.ViewIn(tx, name, false, func(v engine.View) error {
				sets, err := v.Ranges()
				if err != nil {
					return err
				}
				n := stored{phase: v.Progress.Phase, sets: sets, all: map[netip.Addr]record.Allocation{}, ids: map[string]bool{}}
				known[name] = n
				return v.Each(func(a record.Allocation) error {
					if !s.Stale(tx.Epoch(), a) {
						n.all[a.Addr] = a
						for _, h := range a.Holders {
							n.ids[h.ContainerID] = true
						}
					}
					return nil
				})
			})
			if errors.Is(err, store.ErrDamaged) {
				return err
			}
			if err != nil {
				unseen[name], known[name] = err, stored{}
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return s.described(b, known), unseen, nil
}

// described brings together what is known of each network, in the order of
// their names.
func (s State) described(b Backfill, known map[string]stored) []backfill.Network {
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
		cached, unread := s.cachedIn(name, dirs)
		networks[i] = backfill.Network{
			Name:    name,
			Bare:    cmp.Or(n.phase, target(cfg)) == engine.Legacy,
			Sets:    sets,
			Cached:  cached,
			Unread:  unread,
			Stored:  func(addr netip.Addr) (record.Allocation, bool) { a, ok := n.all[addr]; return a, ok },
			Holders: n.ids,
		}
	}
	return networks
}

// byNetwork has one configuration of each network. Where there are two, that of the
// chained role does not count: it has no ranges.
func byNetwork(configs []*ipam.Config) map[string]*ipam.Config {
	all := map[string]*ipam.Config{}
	for _, c := range configs {
		if all[c.Network] == nil || all[c.Network].Role == ipam.Chained {
			all[c.Network] = c
		}
	}
	return all
}

// cachedIn is all that the caches have of a network, alive or not, and why some of
// that could not be read, nil where all was.
func (s State) cachedIn(network string, dirs []string) (_ []backfill.Cached, unread error) {
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
	if len(errs) > 0 {
		unread = errs[0]
	}
	return all, unread
}
