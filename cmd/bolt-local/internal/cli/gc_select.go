package cli

import (
	"cmp"
	"fmt"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/cnicache"
	"github.com/bolt-local/bolt-local/store/record"
)

// sweeper selects what an operator's GC frees.
type sweeper struct {
	plugin *ipam.Plugin
	// unlisted selects what is not in the list of valid attachments; nil where
	// there is none.
	unlisted ipam.Selector
	cache    cnicache.Cache

	living []cnicache.Entry // of the network, by the cache
	kept   []string
	told   map[string]bool // lines of kept: on a full disk an allocation is looked at again
}

func (s *sweeper) selector(network string) ipam.Selector {
	return func(epoch uint64, a record.Allocation, h record.Holder) (string, bool) {
		if s.unlisted == nil {
			if s.plugin.Stale(epoch, a) {
				return "it is of a previous boot", true
			}
			return "its network namespace is gone", s.plugin.Namespaces.Dead(h.NetNS)
		}
		why, free := s.unlisted(epoch, a, h)
		if inUse := cmp.Or(mayLive(s.plugin, epoch, a, h), s.cachedAlive(h)); free && inUse != "" {
			s.keep(fmt.Sprintf("network %s: kept %s of container %s, ifname %s: it is not in the list, but %s",
				network, a.Addr, h.ContainerID, cmp.Or(h.IfName, "?"), inUse))
			return "", false
		}
		return why, free
	}
}

// mayLive says why a holder's pod may still use the address, "" if it does not.
// From another mount namespace, such as that of a debug container, nothing can
// be told by the path.
func mayLive(plugin *ipam.Plugin, epoch uint64, a record.Allocation, h record.Holder) string {
	switch {
	case plugin.Namespaces.Alive(h.NetNS):
		return "its network namespace " + h.NetNS.Path + " is alive"
	case h.NetNS.Inode != 0 && !plugin.Stale(epoch, a) && plugin.Namespaces.Elsewhere(h.NetNS):
		return "whether its network namespace " + h.NetNS.Path + " is alive cannot be told from this mount namespace"
	}
	return ""
}

// readCache looks which of a network's attachments live by libcni's cache. What
// cannot be read is in the errors, and is no witness. It is done before the lock
// is taken, and only for a list: what is freed without one has a namespace.
func (s *sweeper) readCache(network string) []error {
	s.living = nil
	if s.unlisted == nil {
		return nil
	}
	entries, errs := s.cache.Network(network)
	for _, e := range entries {
		if ns := s.plugin.Namespaces.Identify(e.NetNS); s.plugin.Namespaces.Alive(ns) && !s.plugin.Namespaces.IsOwn(ns) {
			s.living = append(s.living, e)
		}
	}
	return errs
}

// cachedAlive is mayLive by libcni's cache: host-local records no namespace.
func (s *sweeper) cachedAlive(h record.Holder) string {
	for _, e := range s.living {
		if e.ContainerID == h.ContainerID && (h.IfName == "" || h.IfName == e.IfName) {
			return "its network namespace " + e.NetNS + " is alive"
		}
	}
	return ""
}

func (s *sweeper) keep(line string) {
	if s.told[line] {
		return
	}
	if s.told == nil {
		s.told = map[string]bool{}
	}
	s.told[line] = true
	s.kept = append(s.kept, line)
}

// takeKept returns what was kept since the last call.
func (s *sweeper) takeKept() []string {
	lines := s.kept
	s.kept = nil
	return lines
}
