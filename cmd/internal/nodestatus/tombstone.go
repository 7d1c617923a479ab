package nodestatus

import (
	"fmt"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// What to do where the tombstone is not there.
const (
	gapMends    = "the next ADD or DEL writes it again"
	gapStays    = "remove the file, and the next ADD or DEL writes the tombstone"
	gapAnothers = "each ADD fails until ipam.dataDir is that directory; do not remove the file: addresses would be given out twice"
	gapOpen     = "so host-local would start there and give out addresses that are held"
)

// findGap returns what is there instead of the network's own tombstone, and what
// to do; "" where that is in its place.
func (r Reader) findGap(network string, v engine.View) string {
	path, c := v.Progress.OldPath, v.Old
	switch t := c.Shut; {
	case v.Unseen != nil:
		return fmt.Sprintf("nobody can tell what is at %s (%v); make it readable", path, v.Unseen)
	case t != nil && *t == (form.Tombstone{}):
		return fmt.Sprintf("%s is a file, but not bolt-local's: host-local fails on it as well, but nothing tells a reader why; %s", path, gapStays)
	case t != nil && !r.State.Owns(*t, network):
		cure := gapMends
		if t.OfBoot(r.State.Store.BootID()) {
			cure = gapAnothers
		}
		return fmt.Sprintf("%s is that of network %s in the data directory %s; %s", path, t.Network, t.DataDir, cure)
	case t != nil:
		return ""
	case !c.Exists:
		return fmt.Sprintf("nothing is at %s, %s; %s", path, gapOpen, gapMends)
	case c.Bare:
		return fmt.Sprintf("an empty directory is at %s, %s; %s", path, gapOpen, gapMends)
	}
	return fmt.Sprintf("host-local's directory is still at %s; %s", path, gapMends)
}

// inTheWay tells of a file in the place of the directory on which each ADD
// fails, in a phase that needs the directory.
func (r Reader) inTheWay(network string, v engine.View) error {
	path, t := v.Progress.OldPath, v.Old.Shut
	switch {
	case t == nil || v.Progress.Phase == engine.Contract:
		return nil
	case *t == form.Tombstone{}:
		return fmt.Errorf("%s is a file, not host-local's directory: each ADD fails until it is moved away", path)
	case !r.State.Owns(*t, network) && t.OfBoot(r.State.Store.BootID()):
		return fmt.Errorf("%s is the tombstone of network %s in the data directory %s: %s", path, t.Network, t.DataDir, gapAnothers)
	}
	return nil
}
