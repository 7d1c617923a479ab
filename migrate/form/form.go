package form

import (
	"errors"
	"net/netip"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

var (
	// ErrTaken: an address that was to be written has something there already,
	// which was not there a moment ago. Look again.
	ErrTaken = errors.New("somebody else has taken the address")

	// ErrLink: a symbolic link leads to where the old form may be in use.
	ErrLink = errors.New("is a symbolic link, which is not followed")

	// ErrCannotShut: the old form cannot be closed or opened in one step here.
	ErrCannotShut = errors.New("the old form cannot be swapped here")

	// ErrUnsynced: the old form is closed, or open, and a power cut may undo it.
	ErrUnsynced = errors.New("the swap is done, but a power cut may undo it")
)

// New is the form that is being entered, within a transaction.
type New interface {
	ipam.Tx

	// Try runs fn and takes back what it has written where it fails.
	Try(fn func() error) error

	// Migration returns what SetMigration has stored, nil for a network that
	// is not known.
	Migration() ([]byte, error)
	SetMigration(doc []byte) error
}

// Old is the form that is being left. Others may write it too, so it is locked
// and looked at in each call. It is for one call.
type Old interface {
	// Path is the place, for people and for the next call.
	Path() string

	// Lock keeps out whoever else uses the form, if it is there. With write,
	// what the lock needs is made. The error wraps filelock.ErrLocked where it was
	// not had by deadline.
	Lock(write bool, deadline time.Time) error
	Unlock()

	// Look reads everything. It changes nothing.
	Look() (Contents, error)

	// Changed returns when the entry with a mark was made, by the clock of its file
	// system, the zero time where a mark does not tell.
	Changed(mark string) time.Time

	// Make makes the form where it is not there, or in place of a tombstone, and
	// locks it. The caller looks again.
	Make(deadline time.Time) error

	// Apply makes changes durable, or none of them, and returns the mark of
	// each change's holder, "" where there is none. The error wraps ErrTaken
	// where an address without a Had has something there.
	Apply(changes []Change) ([]string, error)

	// SetLast stores the last address given from each range set, by its index,
	// the zero Addr for none: a hint, and not durable.
	SetLast(last map[int]netip.Addr) error

	// Shut closes the form in one step: whoever uses it fails from then on, and
	// reads the tombstone. It does nothing to a form that is shut but renew the
	// tombstone. The error wraps ErrCannotShut where the file system cannot, and
	// ErrUnsynced where the form is shut nonetheless.
	Shut(Tombstone) error

	// Sync makes durable what stands in the form's place and, where it is open,
	// what names it has, and tidies up: whoever has changed it may have been killed.
	Sync() error

	// Prepare writes the entries beside a shut form. Prepared looks at what stands
	// there. Open puts it in the place of the tombstone, in one step; where that is
	// done nonetheless, the error wraps ErrUnsynced.
	Prepare(entries []Entry, last map[int]netip.Addr) (Contents, error)
	Prepared() (Contents, error)
	Open() error
}

// Change is what one address had (nil for nothing), and who shall have it (nil for
// nobody).
type Change struct {
	Addr netip.Addr
	Had  *Entry
	Want *record.Holder
}

// Tombstone is what a shut form says.
type Tombstone struct {
	Network string
	DataDir string
	// BootID is the boot in which the tombstone was last renewed: by who gives out
	// addresses, or by hand.
	BootID string
}

// OfBoot tells whether the tombstone was last renewed in the boot with that id. A
// boot whose id cannot be read, "", has none.
func (t Tombstone) OfBoot(id string) bool { return id != "" && t.BootID == id }
