package migrate

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/migrate/hostlocal"
	"github.com/bolt-local/bolt-local/store"
)

// schema1 is a network of the checkpoint as a form.
type schema1 struct {
	*store.Network
	tx *store.Tx
}

var _ form.New = schema1{}

func (s schema1) Try(fn func() error) error { return s.tx.Try(fn) }

// oldPath is host-local's directory of a network under this configuration, ""
// for a call whose configuration does not say.
func (s State) oldPath(network string) string {
	if s.Config == nil || s.Config.Role == ipam.Chained {
		return ""
	}
	return filepath.Join(s.Config.LegacyParent, network)
}

// nested tells that the data directory is host-local's directory of the network, or
// lies in it: both locks would be one file, or the swap would move the checkpoint away.
func (s State) nested(network string) error {
	path := s.oldPath(network)
	if path == "" || !isIn(s.Store.Dir(), path) {
		return nil
	}
	return ipam.Errorf(ipam.CodeConfig, "ipam.dataDir %s lies in host-local's directory %s, which follows from ipam.migration.hostLocalDir: set ipam.dataDir to another directory",
		s.Store.Dir(), path)
}

// isIn tells whether dir is at path or below, by its name or by where that leads.
func isIn(dir, path string) bool {
	there, err := os.Stat(path)
	links := err == nil && there.IsDir() // a tombstone has nothing in it
	for dir, path = filepath.Clean(dir), filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if dir == path {
			return true
		}
		if links && leadsTo(dir, there) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

func leadsTo(path string, file fs.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, file)
}

// admit tells why a network that is not stored must not become so. accepted: it
// is known that allocations were lost.
func (s State) admit(network string, c form.Contents, accepted bool) error {
	path := s.oldPath(network)
	if t := c.Shut; t != nil && !accepted && t.OfBoot(s.Store.BootID()) {
		return lostNetwork(path, network, store.New(t.DataDir, store.Options{}).Path())
	}
	other := filepath.Join(ipam.DefaultLegacyParent, network)
	if !c.Exists && c.Shut == nil && s.Config.Migration.HostLocalDir == "" && other != path {
		if err := s.shutElsewhere(network, other); err != nil {
			return err
		}
		if isDir(other) {
			return ipam.Errorf(ipam.CodeConfig,
				"host-local's directory of network %s is missing at %s, where ipam.dataDir has it, but there is one at %s: name its parent in ipam.migration.hostLocalDir, or remove it",
				network, path, other)
		}
	}
	writes := slices.Contains([]engine.Phase{engine.Legacy, engine.Expand, engine.Switch}, target(s.Config))
	if writes || c.Exists && !c.Bare {
		return s.outlives(path)
	}
	return nil
}

// outlives tells why host-local's directory must not be written: after a reboot its
// files would be there, and no checkpoint that knows of them.
func (s State) outlives(path string) error {
	if !isVolatile(s.Store.Dir()) || isVolatile(path) {
		return nil
	}
	return ipam.Errorf(ipam.CodeConfig,
		"ipam.dataDir %s is on tmpfs, and host-local's directory %s is not: after a reboot nobody would know which of them is right; put ipam.dataDir on a disk", s.Store.Dir(), path)
}

// shutElsewhere tells of a tombstone of another checkpoint at the default place of
// host-local's directory: ipam.dataDir alone was changed, and that is the network's.
func (s State) shutElsewhere(network, path string) error {
	if isDir(path) {
		return nil
	}
	c, err := hostlocal.At(path).Look()
	if err != nil {
		return nil // it is nobody's tombstone
	}
	return s.engine(network).NotAnothers(c)
}

// another tells whether dataDir has another checkpoint than ours: one path may
// lead to it in several ways, and without one it gives out nothing.
func (s State) another(dataDir string) bool {
	theirs, err := os.Stat(store.New(dataDir, store.Options{}).Path())
	if err != nil {
		return false
	}
	ours, err := os.Stat(s.Store.Path())
	return err != nil || !os.SameFile(theirs, ours)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// isVolatile tells whether the file system of a path, which need not be there yet,
// is empty after a reboot.
func isVolatile(path string) bool {
	var st unix.Statfs_t
	for unix.Statfs(path, &st) != nil {
		if path == filepath.Dir(path) {
			return false
		}
		path = filepath.Dir(path)
	}
	return st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC
}

// admitFirst is admit before a checkpoint is made, so that a refusal makes none.
func (s State) admitFirst(network string, accepted bool) error {
	path := s.oldPath(network)
	if path == "" || s.Store.Exists() || s.Store.Lost() != nil {
		return nil // what is lost may be healed
	}
	dir := hostlocal.At(path)
	if dir.HoldsSomething() {
		return s.admit(network, form.Contents{Exists: true}, accepted)
	}
	c, err := dir.Look()
	if err != nil || s.madeMeanwhile() {
		return nil // it is told with the lock held
	}
	if err := s.engine(network).NotAnothers(c); err != nil {
		return err
	}
	return s.admit(network, c, accepted)
}

func target(cfg *ipam.Config) engine.Phase {
	if cfg == nil {
		return ""
	}
	return engine.Phase(cfg.Migration.Phase)
}
