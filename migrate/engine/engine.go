package engine

import (
	"net/netip"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

// Engine is what the calls of one node have in common.
type Engine struct {
	// OpenOld returns the old form at a path. It does not touch the disk.
	OpenOld func(path string) form.Old
	// Stale tells whether an allocation is of an earlier boot and free; epoch is
	// the number of this one.
	Stale func(epoch uint64, a record.Allocation) bool
	// Witness knows what the old form does not.
	Witness Witness
	// Admit tells why a network that is not yet known must not enter.
	Admit func(form.Contents) error
	// Another tells whether the data directory that a tombstone names has another
	// checkpoint than this one.
	Another func(dataDir string) bool
	// Tombstone is what is left in a form that is shut.
	Tombstone form.Tombstone
	// Deadline bounds the wait for the old form's lock.
	Deadline time.Time
	// Warn gets a line for the operator.
	Warn func(string)
}

// Call is what a call of a verb, or of an operator, may do.
type Call struct {
	// Network is for messages.
	Network string
	// OldPath is where the configuration has the old form, "" where it does not
	// say.
	OldPath string
	// Enters: a network that is not known may become so.
	Enters bool
	// Grants: it is an ADD. It brings ranges, and takes a step towards Target.
	Grants bool
	// Fills: it records what attachments are known to hold. Like an ADD it brings
	// ranges and may make what is missing, but it changes no phase.
	Fills bool
	// Frees: it is a DEL.
	Frees  bool
	Target Phase
	Sets   []record.RangeSet
	// Runtime: what it writes carries this boot's number, not 0.
	Runtime bool
	// Due, if set, is what earlier calls have left to be done. changed tells when
	// the old form was given its entry of an address, the zero time where it has
	// none, or cannot tell.
	Due func(tx ipam.Tx, changed func(netip.Addr) time.Time) error
	// By is the step of an operator, 0 for none.
	By Direction
	// Force takes an operator's step to contract although the old form's users
	// have allocations, or back although the configuration says otherwise.
	Force bool
	// Compares: a View tells the differences between the forms, which takes
	// reading all of both.
	Compares bool
}

// Direction is where a step by hand leads.
type Direction int

// The directions. The zero Direction is no step.
const (
	Forward Direction = 1
	Back    Direction = -1
)

// of returns the phase to which a step leads from p.
func (d Direction) of(p Phase) Phase {
	if d == Back {
		return p.Previous()
	}
	return p.Next()
}

// byHand tells whether an operator has asked for a step.
func (c Call) byHand() bool { return c.By != 0 }

// brings tells whether the call has a configuration whose ranges count, and
// wants addresses to be taken.
func (c Call) brings() bool { return c.Grants || c.Fills }
