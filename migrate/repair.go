package migrate

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/cnicache"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/migrate/hostlocal"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// Repair is [store.Store.Repair] with all that is known beside the checkpoint:
// host-local's directories, tombstones, and libcni's caches in cacheDirs.
func (s State) Repair(r store.Repair, cacheDirs []string) (store.Report, error) {
	report, err := s.Store.Repair(s.witnessed(r, cacheDirs))
	return report, s.cniError(err)
}

// Restore is [store.Store.Restore], with the same beside the checkpoint.
func (s State) Restore(r store.Repair, cacheDirs []string) (store.Report, error) {
	report, err := s.Store.Restore(s.witnessed(r, cacheDirs))
	return report, s.cniError(err)
}

func (s State) witnessed(r store.Repair, cacheDirs []string) store.Repair {
	r.Deadline = s.deadline()
	r.Alive = s.Namespaces.Alive
	tombstones := s.tombstones()
	for _, path := range slices.Sorted(maps.Keys(tombstones)) {
		r.Boots = append(r.Boots, tombstones[path].BootID)
		if t := tombstones[path]; t.OfBoot(s.Store.BootID()) {
			r.Shut = append(r.Shut, t.Network)
		}
	}
	r.Changed = engine.Changed
	r.Elsewhere = engine.OldAlone
	r.Witnesses = func(migrations map[string][]byte) ([]store.Witness, error) {
		return s.witnesses(migrations, tombstones, cacheDirs, r.Accept)
	}
	return r
}

// Lost is why a checkpoint that is missing was lost in this boot, nil where it
// was not.
func (s State) Lost() error {
	if err := s.Store.Lost(); err != nil || s.Store.Exists() {
		return s.cniError(err)
	}
	for path, t := range s.tombstones() {
		if t.OfBoot(s.Store.BootID()) && !s.madeMeanwhile() {
			return s.cniError(s.lostBy(path))
		}
	}
	return nil
}

// tombstones are those of this data directory, where host-local's
// directories usually are, by their path.
func (s State) tombstones() map[string]form.Tombstone {
	found := map[string]form.Tombstone{}
	for _, parent := range append([]string{ipam.DefaultLegacyParent, s.Store.Dir()}, s.LegacyParents...) {
		entries, err := os.ReadDir(parent)
		if err != nil {
			continue
		}
		for _, e := range entries {
			path := filepath.Join(parent, e.Name())
			if !e.Type().IsRegular() {
				continue
			}
			if c, err := hostlocal.At(path).Look(); err == nil && c.Shut != nil && s.Owns(*c.Shut, e.Name()) {
				found[path] = *c.Shut
			}
		}
	}
	return found
}

// witnesses asks each network's older form and the caches. A network of which
// nothing but its tombstone is left is shut, as that says. accepts: a directory
// that cannot be read is told, and fails nothing.
func (s State) witnesses(migrations map[string][]byte, tombstones map[string]form.Tombstone, cacheDirs []string, accepts bool) ([]store.Witness, error) {
	docs := maps.Clone(migrations)
	for path, t := range tombstones {
		if docs[t.Network] == nil {
			docs[t.Network] = engine.Shut(path)
		}
	}
	var all []store.Witness
	for _, network := range slices.Sorted(maps.Keys(docs)) {
		doc := docs[network]
		if path := engine.OldPath(doc); path != "" {
			w := store.Witness{Network: network, Name: "host-local's directory " + path, Migration: doc}
			c, err := hostlocal.At(path).Look()
			switch {
			case err != nil && !accepts: // it is not one that has nothing
				return nil, err
			case err != nil:
				s.Warn(err.Error())
			default:
				w.Complete = engine.Complete(doc, c)
				w.Allocations = inDirectory(c)
			}
			all = append(all, w)
		}
		all = append(all, store.Witness{Network: network, Name: "libcni's cache", Ranged: true, Allocations: s.cached(network, cacheDirs)})
	}
	return all, nil
}

// inDirectory are the allocations of which a directory has the files.
func inDirectory(c form.Contents) []record.Allocation {
	var all []record.Allocation
	for _, e := range c.Entries {
		all = append(all, record.Allocation{Addr: e.Addr, Holders: []record.Holder{e.Holder}})
	}
	return all
}

// cached are the addresses of attachments that live.
func (s State) cached(network string, dirs []string) []record.Allocation {
	w := &witness{network: network, namespaces: s.Namespaces, warn: s.Warn, cache: cnicache.Cache{Dirs: dirs}}
	var all []record.Allocation
	for _, l := range w.Living() {
		for _, addr := range l.Addrs {
			all = append(all, record.Allocation{Addr: addr, Holders: []record.Holder{l.Holder}})
		}
	}
	return all
}
