package cli

import (
	"encoding/json"
	"net/netip"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// phases lists all of them, in their order.
func phases() []engine.Phase {
	return []engine.Phase{engine.Legacy, engine.Expand, engine.Switch, engine.Contract}
}

// migration is where the migration of a network stands.
type migration struct {
	phase  engine.Phase // "": nothing is known of it
	target engine.Phase // of the last ADD's configuration, "" for none
	waits  string       // why that ADD did not take the next step
	// directory is host-local's; in contract the tombstone is in its place.
	directory string
	// shut: the tombstone is there. Otherwise gap tells in contract what is.
	shut bool
	gap  *gap
	// aside are the addresses that nobody is given in this boot, because of what
	// stands for them in the directory.
	aside []form.Aside
	// changed: somebody has changed the directory since bolt-local's last call.
	changed bool
	// differences are those between directory and checkpoint, where they were
	// compared.
	differences []string
}

func (a *app) newMigration(network string, v engine.View, epoch uint64) migration {
	p := v.Progress
	m := migration{
		phase:       p.Phase,
		target:      p.Target,
		waits:       p.Waits,
		directory:   p.OldPath,
		aside:       p.Blocked(epoch),
		changed:     v.Changed,
		differences: v.Differences,
	}
	if m.phase == engine.Contract {
		m.gap = a.findGap(network, m.directory, v.Old)
		m.shut = m.gap == nil
	}
	return m
}

func asideAddresses(list []form.Aside) []netip.Addr {
	addrs := make([]netip.Addr, len(list))
	for i, a := range list {
		addrs[i] = a.Addr
	}
	return addrs
}

// storedMigration is what the checkpoint says of a network whose directory
// cannot be looked at, also where the engine does not understand it all. What
// cannot be read is left out; why is told with the rest.
func storedMigration(n *store.Network, epoch uint64) migration {
	var stored struct { // names on disk; see engine.Progress
		Phase    engine.Phase `json:"phase"`
		Target   engine.Phase `json:"target"`
		Waits    string       `json:"waits"`
		OldPath  string       `json:"oldPath"`
		SetAside []form.Aside `json:"setAside"`
	}
	if doc, err := n.Migration(); err != nil || doc == nil || json.Unmarshal(doc, &stored) != nil {
		return migration{}
	}
	return migration{
		phase:     stored.Phase,
		target:    stored.Target,
		waits:     stored.Waits,
		directory: stored.OldPath,
		aside:     engine.Progress{Phase: stored.Phase, SetAside: stored.SetAside}.Blocked(epoch),
	}
}

// inDirectoryAlone tells whether the checkpoint has no allocations of its own.
func (m migration) inDirectoryAlone() bool { return m.phase == engine.Legacy }

// waitsFor is what the next step towards the target waits for, "" where there
// is none.
func (m migration) waitsFor() string {
	switch {
	case m.waits != "":
		return m.waits
	case m.phase != "" && m.phase.Towards(m.target) != m.phase:
		return "the next ADD"
	}
	return ""
}

// imports counts the holders of this boot that were not recorded by an ADD of
// bolt-local: all that nothing has proven yet, and those of them that host-local
// gave their address. In legacy nothing has been imported.
func (n network) imports(plugin *ipam.Plugin, epoch uint64) (unproven, hostLocal int) {
	for _, a := range n.allocations {
		if plugin.Stale(epoch, a) {
			continue
		}
		for _, h := range a.Holders {
			switch h.Origin {
			case record.OriginHostLocal:
				hostLocal++
				unproven++
			case record.OriginCNICache, record.OriginCRI:
				unproven++
			}
		}
	}
	if n.migration.inDirectoryAlone() {
		unproven = 0
	}
	return unproven, hostLocal
}
