package powercut

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/e2e/powercut/disk"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/migrate/hostlocal"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// moment is what both forms say at one time.
type moment struct {
	damaged bool // nothing else is known then

	keys map[string]string // all of the checkpoint by path, nil where there is none

	held    holdings     // in the checkpoint, of whatever boot
	phase   engine.Phase // that holds, "" for none
	pending bool         // a swap was begun

	place string   // what stands where host-local's directory is
	files holdings // in the directory

	// What the next writing call begins with: what is held of this boot, with the
	// directory looked through, and how both forms differ.
	alive       holdings
	differences []string

	// What no boot is known of: files in the directory that no record knows, and
	// records that a command has written. They hold their address in the next boot.
	unknown holdings
}

// holdings are containers by address.
type holdings map[string]string

// The places of a directory.
const (
	placeEmpty     = "nothing"
	placeDirectory = "a directory"
	placeTombstone = "a tombstone"
)

// moment looks without a writing call. Its errors say what must never be found.
func (n node) moment() (moment, error) {
	keys, err := n.keys()
	if err != nil {
		return moment{}, err
	}
	m, err := n.look()
	m.keys = keys
	return m, err
}

// look is moment without the keys.
func (n node) look() (moment, error) {
	m := moment{held: holdings{}, files: holdings{}, alive: holdings{}, unknown: holdings{}}
	marks, err := m.beside(n)
	if err != nil {
		return m, err
	}
	return m, n.store().Read(func(tx *store.Tx) error {
		if err := tx.Verify(); err != nil {
			return err
		}
		known := map[string]bool{} // marks
		err := tx.Network(network).Each(func(a record.Allocation) error {
			m.held.add(a)
			if a.Epoch == 0 {
				m.unknown.add(a)
			}
			for _, h := range a.Holders {
				known[h.Mark] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
		for addr, holder := range m.files {
			if !known[marks[addr]] {
				m.unknown[addr] = holder
			}
		}
		return n.state(nil).ViewIn(tx, network, true, func(v engine.View) error { return m.next(tx.Epoch(), v) })
	})
}

// next is for the view of the next writing call.
func (m *moment) next(epoch uint64, v engine.View) error {
	if v.Known {
		m.phase, m.pending = v.Progress.Phase, v.Progress.Pending != ""
	}
	m.differences = v.Differences
	return v.Each(func(a record.Allocation) error {
		if a.Epoch == 0 || a.Epoch >= epoch {
			m.alive.add(a)
		}
		return nil
	})
}

// keys reads the checkpoint with nothing but bbolt.
func (n node) keys() (map[string]string, error) {
	db, err := bolt.Open(n.store().Path(), 0o600, &bolt.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys := map[string]string{}
	var walk func(path string, b *bolt.Bucket) error
	walk = func(path string, b *bolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			name := fmt.Sprintf("%s/%q", path, k)
			if v == nil {
				return walk(name, b.Bucket(k))
			}
			keys[name] = string(v)
			return nil
		})
	}
	err = db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			return err
		}
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error { return walk(string(name), b) })
	})
	return keys, errors.Join(err, db.Close())
}

// add notes who holds an address.
func (h holdings) add(a record.Allocation) {
	names := make([]string, len(a.Holders))
	for i, holder := range a.Holders {
		names[i] = holder.ContainerID + " " + holder.IfName
	}
	h[a.Addr.String()] = strings.Join(names, " and ")
}

// beside reads what stands in the place of host-local's directory, and returns
// its files' marks by address. No file may be one that names no holder, and a
// tombstone is whole.
func (m *moment) beside(n node) (marks map[string]string, err error) {
	c, err := hostlocal.At(n.path(hostName)).Look()
	switch {
	case err != nil:
		return nil, err
	case len(c.SetAside) > 0:
		return nil, fmt.Errorf("%s/%s names no holder", n.path(hostName), c.SetAside[0].Addr)
	}
	marks = map[string]string{}
	for _, e := range c.Entries {
		m.files.add(record.Allocation{Addr: e.Addr, Holders: []record.Holder{e.Holder}})
		marks[e.Addr.String()] = e.Holder.Mark
	}
	switch {
	case c.Exists:
		m.place = placeDirectory
	case c.Shut == nil:
		m.place = placeEmpty
	default:
		m.place = placeTombstone
		return marks, wholeTombstone(n, *c.Shut)
	}
	return marks, nil
}

func wholeTombstone(n node, tombstone form.Tombstone) error {
	path := n.path(hostName)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	want := form.Tombstone{Network: network, DataDir: n.path(dataName), BootID: tombstone.BootID}
	if tombstone != want || len(tombstone.BootID) != len(bootNow) || !strings.HasSuffix(string(text), tombstone.BootID+"\n") {
		return fmt.Errorf("the tombstone %s is not whole:\n%s", path, text)
	}
	return nil
}

// mirrored tells whether both forms are written.
func (m moment) mirrored() bool {
	return (m.phase == engine.Expand || m.phase == engine.Switch) && !m.pending
}

// lay puts a tree in the place of the node's files.
func (n node) lay(tree disk.Tree) error {
	if err := tree.WriteTo(n.root); err != nil {
		return fmt.Errorf("writing a tree to %s: %w", filepath.Clean(n.root), err)
	}
	return nil
}
