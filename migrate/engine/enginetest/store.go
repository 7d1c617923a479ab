package enginetest

import (
	"path/filepath"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store"
)

// Store keeps a network in a real checkpoint.
type Store struct{ store *store.Store }

// NewStore returns the checkpoint in dir.
func NewStore(dir string, boot func() string) *Store {
	return &Store{store.New(filepath.Join(dir, "data"), store.Options{Writer: "test", BootID: boot})}
}

// schema1 is a network of the checkpoint as a form.
type schema1 struct {
	*store.Network
	tx *store.Tx
}

func (s schema1) Try(fn func() error) error { return s.tx.Try(fn) }

func network(tx *store.Tx) form.New { return schema1{tx.Network(Network), tx} }

// Update implements [Checkpoint].
func (s *Store) Update(op Op, fn func(form.New) error) error {
	storeOp := store.Op{
		Verb: op.Verb, Creates: op.Creates, Runtime: op.Runtime, Committed: op.Committed,
		Precheck: func(tx *store.Tx) error { return op.Precheck(network(tx)) },
	}
	return s.store.Update(storeOp, func(tx *store.Tx) error { return fn(network(tx)) })
}

// Read implements [Checkpoint].
func (s *Store) Read(fn func(form.New) error) error {
	return s.store.Read(func(tx *store.Tx) error { return fn(network(tx)) })
}

// Exists implements [Checkpoint].
func (s *Store) Exists() bool { return s.store.Exists() }

// Verify implements [Checkpoint].
func (s *Store) Verify() error { return s.store.Read((*store.Tx).Verify) }
