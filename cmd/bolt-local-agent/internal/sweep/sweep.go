package sweep

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/migrate/cnicache"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// Options are how allocations are taken back.
type Options struct {
	// Grace is how old an allocation has to be.
	Grace time.Duration
	// ConfirmAfter is the time between both listings.
	ConfirmAfter time.Duration
	// Networks are those in which an allocation needs no pod's identity.
	Networks []string
	// Cache is where libcni keeps what CNI_ARGS said of the pod.
	Cache cnicache.Cache
	// DryRun frees nothing.
	DryRun bool
}

// Sweeper takes allocations back, once or again and again. It is not for
// concurrent use.
type Sweeper struct {
	Options
	// State opens the state, with what the kernel says of namespaces now.
	State func() migrate.State
	// List returns all sandboxes that the runtime knows, by id.
	List func(context.Context) (map[string]bool, error)
	// BootTime is CLOCK_BOOTTIME.
	BootTime func() time.Duration

	// known is since when an allocation without a time is known.
	known map[key]time.Duration
}

// key is one holder of one address.
type key struct {
	network string
	addr    string
	record.Attachment
}

// Swept is what one run has done, or would do.
type Swept struct {
	Freed []ipam.Freed
	// Kept says of allocations that the runtime does not know why they stay.
	Kept []string
}

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

// Run takes back what may be taken back now. Where it fails, or ctx ends,
// nothing is freed but what is returned.
func (s *Sweeper) Run(ctx context.Context) (Swept, error) {
	var done Swept
	candidates, young, err := s.candidates()
	if errors.Is(err, store.ErrDamaged) && !s.DryRun { // as any call that writes
		if err = s.State().Heal(""); err == nil {
			candidates, young, err = s.candidates()
		}
	}
	if err != nil {
		return done, err
	}
	for i := range 2 {
		if i > 0 {
			if len(candidates) == 0 {
				break
			}
			if err := wait(ctx, s.ConfirmAfter); err != nil {
				return done, err
			}
		}
		listing, err := s.List(ctx)
		if err != nil {
			return done, err
		}
		candidates = slices.DeleteFunc(candidates, func(c candidate) bool { return !c.unlisted(listing) })
		young = slices.DeleteFunc(young, func(c candidate) bool { return !c.unlisted(listing) })
	}
	for _, c := range young {
		done.Kept = append(done.Kept, c.kept("its age is not recorded, and it is not known for long enough yet"))
	}
	return done, s.free(candidates, &done)
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// candidates lists what is freed unless a listing has it. young are those of
// which only the age is missing, as it is not recorded.
func (s *Sweeper) candidates() (old, young []candidate, err error) {
	state := s.State()
	known := map[key]time.Duration{}
	err = state.Store.Read(func(tx *store.Tx) error {
		old, young = nil, nil
		for _, network := range tx.Networks() {
			err := state.ViewIn(tx, network, false, func(v engine.View) error {
				return v.Each(func(a record.Allocation) error {
					if a.Epoch != 0 && a.Epoch != tx.Epoch() {
						return nil
					}
					for _, h := range a.Holders {
						switch c := (candidate{network, a, h}); s.age(c, known) {
						case isOld:
							old = append(old, c)
						case isUntold:
							young = append(young, c)
						}
					}
					return nil
				})
			})
			if err != nil {
				return fmt.Errorf("network %s: %w", network, err)
			}
		}
		return nil
	})
	s.known = known
	isNobodys := func(c candidate) bool { return !s.isPods(c) }
	return slices.DeleteFunc(old, isNobodys), slices.DeleteFunc(young, isNobodys), err
}

type age int

const (
	isYoung age = iota
	isOld
	isUntold
)

// age compares a holder with the grace period. known takes over since when this
// process knows one that has no time.
func (s *Sweeper) age(c candidate, known map[key]time.Duration) age {
	now, since := s.BootTime(), c.holder.BootTime
	if since == 0 {
		seen, ok := s.known[c.key()]
		if !ok {
			seen = now
		}
		since = seen
		known[c.key()] = seen
	}
	switch {
	case since <= now && now-since >= s.Grace:
		return isOld
	case c.holder.BootTime == 0:
		return isUntold
	}
	return isYoung
}

// isPods tells whether a CRI runtime has made the container.
func (s *Sweeper) isPods(c candidate) bool {
	if slices.Contains(s.Networks, c.network) || isPod(c.holder.Pod) {
		return true
	}
	return slices.ContainsFunc(s.cached(c), func(e cnicache.Entry) bool { return isPod(e.Pod) })
}

func isPod(p record.Pod) bool { return p.UID != "" || p.InfraContainerID != "" }

// free frees the candidates, if nothing has changed since they were looked at.
func (s *Sweeper) free(candidates []candidate, done *Swept) error {
	state := s.State()
	byNetwork := map[string]map[key]candidate{}
	var networks []string
	for _, c := range candidates {
		if path := s.alive(state.Namespaces, c); path != "" {
			done.Kept = append(done.Kept, c.kept("its network namespace "+path+" is alive"))
			continue
		}
		if byNetwork[c.network] == nil {
			byNetwork[c.network] = map[key]candidate{}
			networks = append(networks, c.network)
		}
		byNetwork[c.network][c.key()] = c
	}
	for _, network := range networks {
		sel := func(_ uint64, a record.Allocation, h record.Holder) (string, bool) {
			c, ok := byNetwork[network][key{network, a.Addr.String(), h.Attachment}]
			return "the container runtime does not know its sandbox", ok && reflect.DeepEqual(c.holder, h)
		}
		freed, err := s.sweep(state, network, sel)
		done.Freed = append(done.Freed, freed...)
		if err != nil {
			return fmt.Errorf("network %s: %w", network, err)
		}
	}
	return nil
}

// alive is the path of the candidate's network namespace if that is there, by
// what is recorded, or by libcni's cache.
func (s *Sweeper) alive(namespaces ipam.Namespaces, c candidate) string {
	if namespaces.Alive(c.holder.NetNS) {
		return c.holder.NetNS.Path
	}
	for _, e := range s.cached(c) {
		if ns := namespaces.Identify(e.NetNS); namespaces.Alive(ns) && !namespaces.IsOwn(ns) {
			return ns.Path
		}
	}
	return ""
}

// cached are the cached results of the holder; where its interface is not known
// those of the container. What cannot be read is no witness.
func (s *Sweeper) cached(c candidate) []cnicache.Entry {
	if c.holder.IfName != "" {
		if e, found, _ := s.Cache.Attachment(c.network, c.holder.Attachment); found {
			return []cnicache.Entry{e}
		}
		return nil
	}
	entries, _ := s.Cache.Network(c.network)
	return slices.DeleteFunc(entries, func(e cnicache.Entry) bool { return e.ContainerID != c.holder.ContainerID })
}

func (s *Sweeper) sweep(state migrate.State, network string, sel ipam.Selector) ([]ipam.Freed, error) {
	if !s.DryRun {
		return ipam.Sweep(state, ipam.VerbOperatorGC, network, sel)
	}
	var all []ipam.Freed
	err := state.View(network, func(r ipam.Reader) error {
		all = nil
		return r.Each(func(a record.Allocation) error {
			_, freed := ipam.Select(network, r.Epoch(), a, sel)
			all = append(all, freed...)
			return nil
		})
	})
	return all, err
}
