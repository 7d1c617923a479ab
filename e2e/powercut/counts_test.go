package powercut

import (
	"fmt"
	"sync/atomic"
)

// counts are what was tried.
type counts struct{ cuts, trees, kills, byHostLocal atomic.Int64 }

func (c *counts) add(d *counts) {
	c.cuts.Add(d.cuts.Load())
	c.trees.Add(d.trees.Load())
	c.kills.Add(d.kills.Load())
	c.byHostLocal.Add(d.byHostLocal.Load())
}

func (c *counts) String() string {
	return fmt.Sprintf("%d cuts left %d different trees after a reboot and %d after a kill; host-local was called on %d of them",
		c.cuts.Load(), c.trees.Load(), c.kills.Load(), c.byHostLocal.Load())
}
