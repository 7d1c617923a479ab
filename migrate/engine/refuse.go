package engine

import (
	"fmt"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// Precheck refuses a call that must not change anything: in a network whose old
// form is elsewhere than the configuration says, or whose phase is of a newer
// version.
func (c Call) Precheck(n form.New) error {
	doc, err := n.Migration()
	if err != nil || doc == nil {
		return err
	}
	p, err := decodeProgress(doc)
	if err != nil {
		return c.named(err)
	}
	if c.Kind == KindAdd || c.Kind == KindBackfill && c.OldPath != "" {
		return c.samePlace(p)
	}
	return nil
}

// named is for a document that cannot be read.
func (c Call) named(err error) error {
	return fmt.Errorf("network %s: %w; install the version that wrote it, or a newer one", c.Network, err)
}

// samePlace asks that the configuration has the old form where it is.
func (c Call) samePlace(p Progress) error {
	if c.OldPath == p.OldPath {
		return nil
	}
	return ipam.Errorf(ipam.CodeConfig,
		"%w: network %s has it at %s, the configuration at %s; set ipam.migration.hostLocalDir, or ipam.dataDir, back",
		ErrPlace, c.Network, p.OldPath, c.OldPath)
}

// NotAnothers asks that the old form was not shut by another checkpoint in this
// boot: that one gives out the same addresses.
func (e *Engine) NotAnothers(c form.Contents) error {
	if t := c.Shut; t == nil || t.DataDir == "" || t.DataDir == e.Tombstone.DataDir || !t.OfBoot(e.Tombstone.BootID) || !e.Another(t.DataDir) {
		return nil
	}
	return ipam.Errorf(ipam.CodeConfig, "%w: the checkpoint in %s has the allocations of network %s in this boot: set ipam.dataDir to that directory",
		ErrAnothers, c.Shut.DataDir, c.Shut.Network)
}
