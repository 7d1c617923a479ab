package nodestatus

import (
	"fmt"
	"path/filepath"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate"
)

// parentToName is the ipam.dataDir that a configuration needs together with the
// type host-local, "" where changing the type alone is enough: host-local knows
// nothing of ipam.migration.hostLocalDir, and looks for directory in its dataDir.
//
// bolt-local's own dataDir is the same field. Whether its default was written out
// is not known here; then host-local's default counts as named, too.
func parentToName(dataDir, directory string) string {
	if directory == "" {
		return ""
	}
	parent := filepath.Dir(directory)
	if dataDir == ipam.DefaultDataDir && parent == ipam.DefaultLegacyParent || migrate.SameDir(dataDir, parent) {
		return ""
	}
	return parent
}

// GoingBack is what a person has to know before the type is changed back to
// host-local, "" where that is the type alone.
func (m Migration) GoingBack() string {
	if m.HostLocalDataDir == "" {
		return ""
	}
	return fmt.Sprintf("host-local knows nothing of ipam.migration.hostLocalDir: with the type alone changed back it would start with an empty directory and give every address out again. Set ipam.dataDir to %s in the same edit", m.HostLocalDataDir)
}
