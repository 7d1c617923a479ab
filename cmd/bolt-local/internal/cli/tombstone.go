package cli

import (
	"fmt"
	"os"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// gap is what is there instead of the tombstone, and what to do.
type gap struct{ text, cure string }

const (
	gapMends    = "the next ADD or DEL writes it again"
	gapStays    = "remove the file, and the next ADD or DEL writes the tombstone"
	gapAnothers = "each ADD fails until ipam.dataDir is that directory, or the file is removed"
	gapOpen     = "so host-local would start there and give out addresses that are held"
)

// String is a clause behind a colon.
func (g *gap) String() string { return g.text + "; " + g.cure }

// findGap returns nil where the network's own tombstone is in its place.
func (a *app) findGap(network, path string, c form.Contents) *gap {
	switch n := c.Shut; {
	case n != nil && *n == (form.Notice{}):
		return &gap{fmt.Sprintf("%s is a file, but not bolt-local's: host-local fails on it as well, but nothing tells a reader why", path), gapStays}
	case n != nil && !a.isOwn(*n, network):
		g := &gap{fmt.Sprintf("%s is that of network %s in the data directory %s", path, n.Network, n.DataDir), gapMends}
		if a.ofThisBoot(*n) {
			g.cure = gapAnothers
		}
		return g
	case n != nil:
		return nil
	case !c.Exists:
		return &gap{fmt.Sprintf("nothing is at %s, %s", path, gapOpen), gapMends}
	case c.Bare:
		return &gap{fmt.Sprintf("an empty directory is at %s, %s", path, gapOpen), gapMends}
	}
	return &gap{fmt.Sprintf("host-local's directory is still at %s", path), gapMends}
}

// inTheWay tells of a file in the place of the directory on which each ADD
// fails, in a phase that needs the directory.
func (a *app) inTheWay(network string, v engine.View) error {
	path, n := v.Progress.OldPath, v.Old.Shut
	switch {
	case n == nil || v.Progress.Phase == engine.Contract:
		return nil
	case *n == form.Notice{}:
		return fmt.Errorf("%s is a file, not host-local's directory: each ADD fails until it is moved away", path)
	case !a.isOwn(*n, network) && a.ofThisBoot(*n):
		return fmt.Errorf("%s is the tombstone of network %s in the data directory %s: %s", path, n.Network, n.DataDir, gapAnothers)
	}
	return nil
}

func (a *app) isOwn(n form.Notice, network string) bool {
	return n.Network == network && sameDir(n.DataDir, a.dataDir)
}

func (a *app) ofThisBoot(n form.Notice) bool {
	return n.BootID != "" && n.BootID == a.store(0).BootID()
}

// sameDir tells whether two paths lead to one directory.
func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
