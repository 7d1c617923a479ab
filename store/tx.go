package store

import (
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// Tx is one transaction on the checkpoint, or on none: where there is no
// checkpoint it has no networks.
type Tx struct {
	store     *Store
	bolt      *bolt.Tx   // nil: no checkpoint
	pages     *unscanned // nil: all were looked at
	meta      error      // what is wrong with the bucket meta, where not all pages were looked at
	format    Format
	epochs    epochs
	epoch     uint64
	nameless  bool   // the boot id cannot be read
	commit    string // what meta/commit says
	lock      held   // of a transaction that may be committed
	readOnly  error  // why writes are refused, nil where they are not
	problem   error  // see Problem
	changes   []change
	undo      []change        // what takes each of them back
	made      [][]string      // paths of the buckets that it made, in this order
	found     map[string]bool // networks, see [Network.Found]
	spoiled   error           // why it may not be committed
	done      []Deferred      // carried out; their files go once it is durable
	forgotten []string        // networks whose buckets go with the commit
	undoFile  bool            // there is one, of no use once this transaction is done
}

// begin reads what every transaction needs. It checks nothing but what it
// cannot do without.
func (s *Store) begin(tx *bolt.Tx, u *unscanned, bootID string) (*Tx, error) {
	t := &Tx{store: s, bolt: tx, pages: u, nameless: bootID == "", found: map[string]bool{}}
	t.meta = u.scanMeta()
	return t, t.readMeta(bootID)
}

// readMeta reads what the bucket meta says.
func (t *Tx) readMeta(bootID string) error {
	var err error
	if t.format, err = t.store.readFormat(t.bolt); err != nil {
		return fmt.Errorf("%s: %w", t.store.Path(), err)
	}
	if t.epochs, err = readEpochs(t.bucket([]string{bucketMeta, bucketEpochs}), bootID); err != nil {
		if newer := t.format.mayWrite(); newer != nil {
			err = newer // which may have others there
		}
		return fmt.Errorf("%s: %w", t.store.Path(), err)
	}
	t.epoch = t.epochs.current(bootID)
	t.commit = string(t.bucket([]string{bucketMeta}).Get([]byte(keyCommit)))
	return nil
}

// Exists tells whether there is a checkpoint.
func (t *Tx) Exists() bool { return t.bolt != nil }

// Format is zero where there is no checkpoint, or none that can be read.
func (t *Tx) Format() Format { return t.format }

// Epoch is the number of the running boot.
func (t *Tx) Epoch() uint64 { return t.epoch }

// Problem is why the content may not be believed; only ReadAny gives a
// transaction that has one.
func (t *Tx) Problem() error { return t.problem }

// BootID returns the boot id of an epoch, "" for an unknown number.
func (t *Tx) BootID(epoch uint64) string {
	var boot string
	b := t.bucket([]string{bucketMeta, bucketEpochs})
	if b == nil || epoch == 0 {
		return ""
	}
	_ = b.ForEach(func(k, v []byte) error {
		if n, err := bytesUint64(v); err == nil && n == epoch {
			boot = string(k)
		}
		return nil
	})
	return boot
}

// Networks lists the names of the stored networks in order.
func (t *Tx) Networks() []string {
	var names []string
	b := t.bucket([]string{bucketNetworks})
	if b == nil {
		return nil
	}
	t.pages.scan()
	_ = b.ForEachBucket(func(k []byte) error {
		names = append(names, string(k))
		return nil
	})
	return names
}

// Network returns a network, stored or not.
func (t *Tx) Network(name string) *Network { return &Network{tx: t, name: name} }

// beat tells the watchdog of a step. A walk may tell of each where all pages were
// looked at, as it comes to an end then.
func (t *Tx) beat() { t.store.beats.count.Add(1) }

func (t *Tx) bucket(path []string) *bolt.Bucket {
	if t.bolt == nil {
		return nil
	}
	t.beat()
	last := len(path) - 1
	t.pages.descend(path[:last], []byte(path[last]))
	b := t.bolt.Bucket([]byte(path[0]))
	for _, name := range path[1:] {
		if b == nil {
			return nil
		}
		b = b.Bucket([]byte(name))
	}
	return b
}

// put and remove are the only ways to write, so that the journal misses
// nothing. put makes the buckets that are missing.
func (t *Tx) put(path []string, key, value []byte) error {
	if t.readOnly != nil {
		return t.readOnly
	}
	t.pages.descend(path, key)
	b, err := t.makeBucket(path)
	if err != nil {
		return fmt.Errorf("writing to %s: %w", t.store.Path(), err)
	}
	before := slices.Clone(b.Get(key))
	if err := b.Put(key, value); err != nil {
		return fmt.Errorf("writing to %s: %w", t.store.Path(), err)
	}
	t.record(change{Path: path, Key: key, Value: value}, before)
	return nil
}

// buckets is what has buckets in it: a transaction or a bucket.
type buckets interface {
	Bucket(name []byte) *bolt.Bucket
	CreateBucket(name []byte) (*bolt.Bucket, error)
	DeleteBucket(name []byte) error
}

// makeBucket returns the bucket at path, of which it makes what is missing.
func (t *Tx) makeBucket(path []string) (b *bolt.Bucket, err error) {
	var parent buckets = t.bolt
	for i, name := range path {
		if b = parent.Bucket([]byte(name)); b == nil {
			if b, err = parent.CreateBucket([]byte(name)); err != nil {
				return nil, err
			}
			t.made = append(t.made, path[:i+1])
		}
		parent = b
	}
	return b, nil
}

// remove deletes a key, which need not be there.
func (t *Tx) remove(path []string, key []byte) error {
	if t.readOnly != nil {
		return t.readOnly
	}
	b := t.bucket(path)
	t.pages.descend(path, key)
	if b == nil || b.Get(key) == nil {
		return nil
	}
	before := slices.Clone(b.Get(key))
	if err := b.Delete(key); err != nil {
		return fmt.Errorf("writing to %s: %w", t.store.Path(), err)
	}
	t.record(change{Path: path, Key: key}, before)
	return nil
}

// removeAll removes all keys of the bucket b at path. The buckets in it stay.
func (t *Tx) removeAll(path []string, b *bolt.Bucket) error {
	return t.removeWhere(path, b, func([]byte) bool { return true })
}

// removeWhere removes those keys of the bucket b at path that drop selects.
func (t *Tx) removeWhere(path []string, b *bolt.Bucket, drop func(key []byte) bool) error {
	var keys [][]byte // deleted behind the walk, as bbolt asks
	err := b.ForEach(func(k, _ []byte) error {
		if drop(k) {
			keys = append(keys, slices.Clone(k))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.removeKeys(path, keys)
}

func (t *Tx) removeKeys(path []string, keys [][]byte) error {
	for _, k := range keys {
		if err := t.remove(path, k); err != nil {
			return err
		}
	}
	return nil
}

// record keeps a change for the journal, and what was before it.
func (t *Tx) record(c change, before []byte) {
	t.changes = append(t.changes, c)
	t.undo = append(t.undo, change{Path: c.Path, Key: c.Key, Value: before})
}
