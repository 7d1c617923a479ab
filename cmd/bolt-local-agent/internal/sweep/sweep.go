package sweep

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/internal/cmdline"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/migrate/cnicache"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// Options are how allocations are taken back.
type Options struct {
	// Grace is how old an allocation has to be.
	Grace time.Duration
	// ConfirmAfter is the time between both listings.
	ConfirmAfter time.Duration
	// Networks are the only ones that are swept, none for all. In those that are
	// named an allocation needs no pod's identity.
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
	// results are those that the cache has of a network, as they were last read.
	results map[string][]cnicache.Entry
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
	// Unstored names each of Options.Networks that is not stored.
	Unstored []error
}

// Run takes back what may be taken back now. Where it fails, or ctx ends,
// nothing is freed but what is returned. A network that fails keeps nothing from
// being freed in others.
func (s *Sweeper) Run(ctx context.Context) (Swept, error) {
	var done Swept
	found, err := s.look()
	if errors.Is(err, store.ErrDamaged) && !s.DryRun { // as any call that writes
		if err = s.State().Heal(""); err == nil {
			found, err = s.look()
		}
	}
	if err != nil {
		return done, err
	}
	for i := range 2 {
		if i > 0 {
			if len(found.old) == 0 {
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
		listed := func(c candidate) bool { return !c.unlisted(listing) }
		found.old, found.young = slices.DeleteFunc(found.old, listed), slices.DeleteFunc(found.young, listed)
	}
	for _, c := range found.young {
		done.Kept = append(done.Kept, c.kept("its age is not recorded, and it is not known for long enough yet"))
	}
	for _, network := range s.Networks {
		if !slices.Contains(found.networks, network) {
			done.Unstored = append(done.Unstored, wording.NotStored(network, s.State().Store.Path(), found.networks))
		}
	}
	return done, errors.Join(append(found.failed, s.free(found.old, &done))...)
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

// free frees the candidates, if nothing has changed since they were looked at.
func (s *Sweeper) free(candidates []candidate, done *Swept) error {
	state := s.State()
	s.results = map[string][]cnicache.Entry{} // those of before the listings are old
	byNetwork := map[string]map[key]candidate{}
	var networks []string
	for _, c := range candidates {
		if why := s.mayLive(state.Namespaces, c); why != "" {
			done.Kept = append(done.Kept, c.kept(why))
			continue
		}
		if byNetwork[c.network] == nil {
			byNetwork[c.network] = map[key]candidate{}
			networks = append(networks, c.network)
		}
		byNetwork[c.network][c.key()] = c
	}
	var errs []error
	for _, network := range networks {
		sel := func(_ uint64, a record.Allocation, h record.Holder) (string, bool) {
			c, ok := byNetwork[network][key{network, a.Addr.String(), h.Attachment}]
			return "the container runtime does not know its sandbox", ok && reflect.DeepEqual(c.holder, h)
		}
		freed, err := s.sweep(state, network, sel)
		done.Freed = append(done.Freed, freed...)
		if err != nil {
			errs = append(errs, fmt.Errorf("network %s: %w", network, err))
		}
	}
	return errors.Join(errs...)
}

// mayLive is why the candidate's network namespace may be in use, by what is
// recorded, or by libcni's cache; "" where it is not.
func (s *Sweeper) mayLive(namespaces ipam.Namespaces, c candidate) string {
	ns := c.holder.NetNS
	switch {
	case namespaces.Alive(ns):
		return "its network namespace " + ns.Path + " is alive"
	case ns.Inode != 0 && namespaces.Elsewhere(ns):
		return "whether its network namespace " + ns.Path + " is alive cannot be told from this mount namespace: run the agent in that of the runtime, or free it by `" + s.release(c) + "` once you know that it is gone"
	}
	for _, e := range s.cached(c) {
		if ns := namespaces.Identify(e.NetNS); namespaces.Alive(ns) && !namespaces.IsOwn(ns) {
			return "its network namespace " + ns.Path + " is alive"
		}
	}
	return ""
}

// release is the command that frees a candidate by hand.
func (s *Sweeper) release(c candidate) string {
	return cmdline.Command(s.State().Store.Dir(), "release", "--force", "--network", cmdline.Word(c.network), "--ip", c.alloc.Addr.String())
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
