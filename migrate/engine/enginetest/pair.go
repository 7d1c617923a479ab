package enginetest

import (
	"errors"
	"net/netip"

	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// Network is the name of the network that a pair keeps.
const Network = "podnet"

// ErrShut is the error of whoever uses an old form that is shut.
var ErrShut = errors.New("the form is shut")

// Pair is one network in two forms, on a disk of its own.
type Pair struct {
	New Checkpoint
	Old Older
}

// Maker makes a pair in an empty directory. boot returns the id of the running
// boot.
type Maker struct {
	Name string
	Make func(dir string, boot func() string) Pair
}

// Pairs are all pairs.
var Pairs = []Maker{
	{"directory and checkpoint", func(dir string, boot func() string) Pair {
		return Pair{NewStore(dir, boot), NewDirectory(dir)}
	}},
	{"list and network file", func(dir string, boot func() string) Pair {
		return Pair{NewNetworkFile(dir, boot), NewList(dir)}
	}},
}

// Op is what kind of transaction an Update is; see [store.Op].
type Op struct {
	Verb             string
	Creates, Runtime bool
	Precheck         func(form.New) error
	Committed        func()
}

// Checkpoint keeps the new form, in transactions.
type Checkpoint interface {
	// Update calls fn in one transaction and commits it where fn succeeds.
	Update(op Op, fn func(form.New) error) error
	// Read calls fn with what is stored. A write fails.
	Read(fn func(form.New) error) error
	// Exists tells whether anything is stored.
	Exists() bool
	// Verify holds what is stored against its own rules.
	Verify() error
}

// Older is the old form with all who may change it besides the engine.
type Older interface {
	Path() string
	// Open returns the form as the engine uses it.
	Open(path string) form.Old

	// Add and Del are what a program does that knows this form alone, under the
	// form's own lock. The error of Add wraps fs.ErrExist where something is at
	// the address. That of both wraps ErrShut where the form is shut.
	Add(att record.Attachment, addr netip.Addr) error
	// Del reports whether it found anything. Like host-local it also removes
	// entries of the container that have no ifname.
	Del(att record.Attachment) (found bool, err error)

	// What follows is done without the lock.

	// Seize is Add.
	Seize(att record.Attachment, addr netip.Addr) error
	// Remove removes what is at one address.
	Remove(addr netip.Addr) error
	// Renew replaces an entry by one of the same content.
	Renew(addr netip.Addr) error
	// Block puts something at an address that names no holder; fixed: and that
	// cannot be replaced.
	Block(addr netip.Addr, fixed bool) error
	// Unshut removes the tombstone of a form that is shut.
	Unshut() error
	// Wipes are the ways in which all of it is lost.
	Wipes() []Wipe
}

// Wipe is a way to lose an old form. Nothing, or an empty form, is left.
type Wipe struct {
	Name string
	Do   func() error
}
