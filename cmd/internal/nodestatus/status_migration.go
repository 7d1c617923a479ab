package nodestatus

import (
	"net/netip"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store/record"
)

// MigrationStatus is where a network's move from host-local stands, for the
// JSON of `status` and of `migrate status`.
type MigrationStatus struct {
	// Phase is the one that holds, Target that of the last ADD's configuration.
	Phase  engine.Phase `json:"phase,omitempty"`
	Target engine.Phase `json:"target,omitempty"`
	// WaitsFor is what the next step towards Target waits for.
	WaitsFor string `json:"waitsFor,omitempty"`
	// Directory is host-local's, Shut that the tombstone is in its place.
	Directory string `json:"directory,omitempty"`
	Shut      bool   `json:"shut,omitempty"`
	// HostLocalDataDir is the ipam.dataDir that the configuration needs together
	// with the type host-local, "" where the type alone is enough.
	HostLocalDataDir string `json:"hostLocalDataDir,omitempty"`
	// DirectoryChanged: somebody else has written there since the last call.
	DirectoryChanged bool `json:"directoryChanged,omitempty"`
	// Unproven counts the allocations of this boot that were imported, HostLocal
	// those that host-local made.
	Unproven  int          `json:"unproven"`
	HostLocal int          `json:"hostLocal"`
	SetAside  []netip.Addr `json:"setAside"`
	// Problem is why the directory could not be looked at.
	Problem string `json:"problem,omitempty"`
}

// NewMigrationStatus is the part of [New] that is about one network's move.
// epoch is the snapshot's.
func NewMigrationStatus(n Network, plugin *ipam.Plugin, epoch uint64) MigrationStatus {
	m := n.Migration
	s := MigrationStatus{
		Phase:            m.Phase,
		Target:           m.Target,
		WaitsFor:         m.waitsFor(),
		Directory:        m.Directory,
		Shut:             m.Shut,
		DirectoryChanged: m.Changed,
		HostLocalDataDir: m.HostLocalDataDir,
		SetAside:         m.blocked(),
	}
	s.Unproven, s.HostLocal = n.imports(plugin, epoch)
	if n.Problem != nil {
		s.Problem = n.Problem.Error()
	}
	return s
}

// imports counts the holders of this boot that were not recorded by an ADD of
// bolt-local: all that nothing has proven yet, and those of them that host-local
// gave their address. In legacy nothing has been imported.
func (n Network) imports(plugin *ipam.Plugin, epoch uint64) (unproven, hostLocal int) {
	for _, a := range n.Allocations {
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
	if n.Migration.inDirectoryAlone() {
		unproven = 0
	}
	return unproven, hostLocal
}
