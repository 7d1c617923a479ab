package sweep

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/cnicache"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// candidate is a holder that is freed unless a listing has it.
type candidate struct {
	network string
	alloc   record.Allocation
	holder  record.Holder
}

func (c candidate) key() key { return key{c.network, c.alloc.Addr.String(), c.holder.Attachment} }

// unlisted tells whether a listing has neither id of the pod.
func (c candidate) unlisted(listing map[string]bool) bool {
	_, container := listing[c.holder.ContainerID]
	_, infra := listing[c.holder.Pod.InfraContainerID]
	return !container && !infra
}

func (c candidate) kept(why string) string {
	return fmt.Sprintf("network %s: kept %s of container %s, which the container runtime does not know: %s", c.network, c.alloc.Addr, c.holder.ContainerID, why)
}

// found is what is freed unless a listing has it.
type found struct {
	old []candidate
	// young are those that are not freed only because their age is not recorded, and
	// this process does not know them for long enough.
	young    []candidate
	networks []string
	failed   []error // of networks that could not be looked at
}

func (s *Sweeper) look() (f found, err error) {
	s.results = map[string][]cnicache.Entry{}
	state := s.State()
	state.Deadline = time.Now().Add(ipam.ReadTimeout) // for all old forms together, while the lock is held
	known := map[key]time.Duration{}
	err = state.Store.Read(func(tx *store.Tx) error {
		f = found{networks: tx.Networks()}
		for _, network := range f.networks {
			if len(s.Networks) > 0 && !slices.Contains(s.Networks, network) {
				continue
			}
			err := state.ViewIn(tx, network, false, func(v engine.View) error {
				return v.Each(func(a record.Allocation) error {
					if a.Epoch == 0 || a.Epoch == tx.Epoch() {
						s.byAge(network, a, known, &f)
					}
					return nil
				})
			})
			if errors.Is(err, store.ErrDamaged) {
				return err
			}
			if err != nil {
				f.failed = append(f.failed, fmt.Errorf("network %s: %w", network, err))
			}
		}
		return nil
	})
	if err != nil {
		return found{}, err
	}
	s.known = known
	others := func(c candidate) bool { return !s.inScope(c) } // which reads the cache: without the lock
	f.old, f.young = slices.DeleteFunc(f.old, others), slices.DeleteFunc(f.young, others)
	return f, nil
}

// byAge adds the holders of an allocation to the candidates that are old, or that
// may be: see age.
func (s *Sweeper) byAge(network string, a record.Allocation, known map[key]time.Duration, f *found) {
	for _, h := range a.Holders {
		switch c := (candidate{network, a, h}); s.age(c, known) {
		case isOld:
			f.old = append(f.old, c)
		case isUntold:
			f.young = append(f.young, c)
		}
	}
}

type age int

const (
	isYoung age = iota
	isOld
	isUntold // no time is recorded, and this process does not know it for long enough
)

// age compares a holder with the grace period. Where no time is recorded, its age
// is since when this process knows it, which known takes over. A time that is yet
// to come is of an earlier boot's clock, and counts as none.
func (s *Sweeper) age(c candidate, known map[key]time.Duration) age {
	now, since := s.BootTime(), c.holder.BootTime
	untold := since == 0 || since > now
	if untold {
		seen, ok := s.known[c.key()]
		if !ok {
			seen = now
		}
		since = seen
		known[c.key()] = seen
	}
	switch {
	case now-since >= s.Grace:
		return isOld
	case untold:
		return isUntold
	}
	return isYoung
}

// inScope tells whether the container has a pod's id, by what is recorded or in
// libcni's cache, or its network is one that was named.
func (s *Sweeper) inScope(c candidate) bool {
	if slices.Contains(s.Networks, c.network) || identified(c.holder.Pod) {
		return true
	}
	return slices.ContainsFunc(s.cached(c), func(e cnicache.Entry) bool { return identified(e.Pod) })
}

// identified tells whether a pod has an id that CRI runtimes give; others give none,
// but for podman before 4.0.
func identified(p record.Pod) bool { return p.UID != "" || p.InfraContainerID != "" }

// cached are the cached results of the holder; where its interface is not known
// those of the container. What cannot be read is no witness.
func (s *Sweeper) cached(c candidate) []cnicache.Entry {
	if c.holder.IfName != "" {
		if e, found, _ := s.Cache.Attachment(c.network, c.holder.Attachment); found {
			return []cnicache.Entry{e}
		}
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.ofNetwork(c.network)), func(e cnicache.Entry) bool { return e.ContainerID != c.holder.ContainerID })
}

// ofNetwork are all cached results of a network. They are read once for all holders
// that are looked at together: a node may have thousands of both.
func (s *Sweeper) ofNetwork(network string) []cnicache.Entry {
	entries, read := s.results[network]
	if !read {
		entries, _ = s.Cache.Network(network)
		s.results[network] = entries
	}
	return entries
}
