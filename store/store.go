package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// DefaultLockTimeout bounds the wait for all locks together.
const DefaultLockTimeout = 10 * time.Second

// Options are what a Store needs to know besides its directory. The zero value
// works.
type Options struct {
	// LockTimeout is the longest wait for all locks together; 0 means
	// DefaultLockTimeout.
	LockTimeout time.Duration
	// Writer is this binary's version, recorded in meta/format.
	Writer string
	// Warn gets a line for what went wrong without failing the call; nil drops it.
	Warn func(string)
	// Waited is told how long each call waited for the lock, had or not; nil for
	// nobody.
	Waited func(time.Duration)
	// BootID replaces the kernel's boot id; "" stands for one that cannot be read.
	BootID func() string
	// Stuck is called, from another goroutine, when a call makes no progress. It
	// has to end the process; nil prints the error and does.
	Stuck func(error)
	// Alone: the process does nothing beside its calls, and one at a time. All of
	// its processor time is theirs then, and none needs a thread of its own.
	Alone bool
}

// Store reaches the checkpoint in one data directory. It keeps nothing open:
// each call takes the lock, opens, works and lets go, so it may be used from
// several goroutines and beside other processes.
type Store struct {
	dir  string
	opts Options

	beats       beats
	longestStep time.Duration
	commitBolt  func(*bolt.Tx) error // replaced by tests
}

// New returns the store in dir. It does not touch the disk.
func New(dir string, opts Options) *Store {
	if opts.LockTimeout == 0 {
		opts.LockTimeout = DefaultLockTimeout
	}
	if opts.Writer == "" {
		opts.Writer = "dev"
	}
	if opts.Warn == nil {
		opts.Warn = func(string) {}
	}
	if opts.BootID == nil {
		opts.BootID = sync.OnceValue(readBootID) // one call is of one boot
	}
	if opts.Waited == nil {
		opts.Waited = func(time.Duration) {}
	}
	if opts.Stuck == nil {
		opts.Stuck = exitStuck
	}
	return &Store{dir: dir, opts: opts, longestStep: longestStep, commitBolt: (*bolt.Tx).Commit}
}

// Dir is the data directory.
func (s *Store) Dir() string { return s.dir }

// BootID is that of the running boot, "" where it cannot be read.
func (s *Store) BootID() string { return s.opts.BootID() }

// LockTimeout is the longest wait for all locks together.
func (s *Store) LockTimeout() time.Duration { return s.opts.LockTimeout }

// Exists tells whether there is a checkpoint file.
func (s *Store) Exists() bool { return exists(s.Path()) }

// Stat is Exists for who must not guess where the checkpoint cannot be looked at.
func (s *Store) Stat() (exists bool, err error) {
	switch _, err := os.Lstat(s.Path()); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("looking at the checkpoint: %w", err)
	}
	return true, nil
}

// Path is the checkpoint's file name.
func (s *Store) Path() string { return s.file(CheckpointFile) }

func (s *Store) file(name string) string { return filepath.Join(s.dir, name) }

// Op says what kind of transaction an Update is.
type Op struct {
	// Verb is written to the journal.
	Verb string
	// Creates: make the checkpoint where there is none, and grow it as needed.
	// Without it Update does nothing where there is none.
	Creates bool
	// Runtime: a container runtime called, so a new boot id begins an epoch.
	Runtime bool
	// Precheck, if set, is asked before any byte is written. What it refuses has
	// changed nothing.
	Precheck func(*Tx) error
	// Committed, if set, is called under the lock once what the operation did is
	// durable, also where there was nothing to write; not where Update fails or
	// may not write, nor where there is no checkpoint and none is made.
	Committed func()
}

// done tells of an Update that ended with err.
func (op Op) done(err error) error {
	if err == nil && op.Committed != nil {
		op.Committed()
	}
	return err
}
