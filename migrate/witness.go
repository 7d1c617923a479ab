package migrate

import (
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/cnicache"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store/record"
)

// Ascribed implements [ipam.State].
func (s State) Ascribed(network string, att record.Attachment) []netip.Addr {
	if s.Config == nil {
		return nil
	}
	e, found, err := cnicache.Cache{Dirs: s.Config.CNICacheDirs}.Attachment(network, att)
	if err != nil {
		s.Warn("libcni's cache: " + err.Error())
	}
	if !found {
		return nil
	}
	return e.Addrs
}

// witness is libcni's result caches, read once and only if asked. A result is
// believed while the namespace that it names is there: caches outlive reboots
// and lost DELs.
type witness struct {
	network    string
	cache      cnicache.Cache
	namespaces ipam.Namespaces
	warn       func(string)

	loaded bool
	living []engine.Living
	byID   map[string][]int // of living, by container id
}

func (w *witness) load() {
	if w.loaded {
		return
	}
	w.loaded = true
	if len(w.cache.Dirs) == 0 || w.namespaces == nil {
		return
	}
	entries, errs := w.cache.Network(w.network)
	for _, err := range errs {
		w.warn("libcni's cache: " + err.Error())
	}
	w.byID = map[string][]int{}
	for _, e := range entries {
		ns := w.namespaces.Identify(e.NetNS)
		if !w.namespaces.Alive(ns) || w.namespaces.IsOwn(ns) {
			continue
		}
		w.byID[e.ContainerID] = append(w.byID[e.ContainerID], len(w.living))
		w.living = append(w.living, engine.Living{Addrs: e.Addrs, Holder: record.Holder{
			Attachment: e.Attachment,
			Origin:     record.OriginCNICache,
			NetNS:      ns,
			Pod:        e.Pod,
		}})
	}
}

// Living implements [engine.Witness].
func (w *witness) Living() []engine.Living {
	w.load()
	return w.living
}

// Complete implements [engine.Witness]: an entry of the same container with
// this address, whose ifname does not contradict.
func (w *witness) Complete(addr netip.Addr, h *record.Holder) {
	w.load()
	for _, i := range w.byID[h.ContainerID] {
		l := w.living[i]
		if !slices.Contains(l.Addrs, addr) || (h.IfName != "" && h.IfName != l.Holder.IfName) {
			continue
		}
		h.IfName, h.NetNS, h.Pod = l.Holder.IfName, l.Holder.NetNS, l.Holder.Pod
		return
	}
}
