package nodestatus

import (
	"encoding/json"
	"net/netip"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store"
)

// Migration is where a network's move from host-local stands.
type Migration struct {
	Phase  engine.Phase // "": nothing is known of it
	Target engine.Phase // of the last ADD's configuration, "" for none
	Waits  string       // why that ADD did not take the next step
	// Directory is host-local's; in contract the tombstone is in its place.
	Directory string
	// HostLocalDataDir is the ipam.dataDir that going back to host-local needs, ""
	// where changing the type is enough.
	HostLocalDataDir string
	// Shut: the tombstone is there.
	Shut bool
	// Gap tells in contract what is there instead, and what to do, as a clause
	// behind a colon. It is "" also where the network cannot be read.
	Gap string
	// Aside are the addresses that nobody is given in this boot, because of what
	// stands for them in the directory.
	Aside []form.Aside
	// Changed: somebody has changed the directory since bolt-local's last call.
	Changed bool
	// Differences are those between directory and checkpoint, where they were
	// compared.
	Differences []string
}

func (r Reader) newMigration(network string, v engine.View, epoch uint64) Migration {
	p := v.Progress
	m := Migration{
		Phase:       p.Phase,
		Target:      p.Target,
		Waits:       p.Waits,
		Directory:   p.OldPath,
		Aside:       p.Blocked(epoch),
		Changed:     v.Changed,
		Differences: v.Differences,

		HostLocalDataDir: parentToName(r.State.Store.Dir(), p.OldPath),
	}
	if m.Phase == engine.Contract {
		m.Gap = r.findGap(network, v)
		m.Shut = m.Gap == ""
	}
	return m
}

// storedMigration is what the checkpoint says of a network whose directory
// cannot be looked at, also where the engine does not understand it all. What
// cannot be read is left out; why is told with the rest.
func storedMigration(n *store.Network, epoch uint64) Migration {
	var stored struct { // names on disk; see engine.Progress
		Phase    engine.Phase `json:"phase"`
		Target   engine.Phase `json:"target"`
		Waits    string       `json:"waits"`
		OldPath  string       `json:"oldPath"`
		SetAside []form.Aside `json:"setAside"`
	}
	if doc, err := n.Migration(); err != nil || doc == nil || json.Unmarshal(doc, &stored) != nil {
		return Migration{}
	}
	return Migration{
		Phase:     stored.Phase,
		Target:    stored.Target,
		Waits:     stored.Waits,
		Directory: stored.OldPath,
		Aside:     engine.Progress{Phase: stored.Phase, SetAside: stored.SetAside}.Blocked(epoch),
	}
}

// inDirectoryAlone tells whether the checkpoint has no allocations of its own.
func (m Migration) inDirectoryAlone() bool { return m.Phase == engine.Legacy }

// waitsFor is what the next step towards the target waits for, "" where there
// is none.
func (m Migration) waitsFor() string {
	switch {
	case m.Waits != "":
		return m.Waits
	case m.Phase != "" && m.Phase.Towards(m.Target) != m.Phase:
		return "the next ADD"
	}
	return ""
}

// blocked are the addresses that are set aside.
func (m Migration) blocked() []netip.Addr {
	addrs := make([]netip.Addr, len(m.Aside))
	for i, a := range m.Aside {
		addrs[i] = a.Addr
	}
	return addrs
}
