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
	// Outlives tells why the old form at a path must not be written: it would outlive
	// the new one.
	Outlives func(path string) error
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

// Kind tells what a call does.
type Kind int

// The kinds. KindOther is a call that frees, as GC does, or only reads.
const (
	KindOther Kind = iota
	// KindAdd is an ADD: it brings ranges, and takes a step towards Target.
	KindAdd
	// KindDel is a DEL. The engine itself takes it as any call that frees.
	KindDel
	// KindBackfill records what attachments are known to hold. Like an ADD it
	// brings ranges and may make what is missing, but it changes no phase.
	KindBackfill
	// KindAdvance and KindRollback are an operator's step, forward and back.
	KindAdvance
	KindRollback
)

// byHand tells whether an operator has asked for a step.
func (k Kind) byHand() bool { return k == KindAdvance || k == KindRollback }

// brings tells whether the call has a configuration whose ranges count, and
// wants addresses to be taken.
func (k Kind) brings() bool { return k == KindAdd || k == KindBackfill }

// from returns the phase to which an operator's step leads from p.
func (k Kind) from(p Phase) Phase {
	if k == KindRollback {
		return p.Previous()
	}
	return p.Next()
}

// Call is what a call of a verb, or of an operator, may do.
type Call struct {
	// Kind is exactly one: what an ADD may and what an operator may exclude each
	// other.
	Kind Kind
	// Network is for messages.
	Network string
	// OldPath is where the configuration has the old form, "" where it does not
	// say.
	OldPath string
	// Enters: a network that is not known may become so.
	Enters bool
	// Target is the phase that the configuration names, "" for none.
	Target Phase
	Sets   []record.RangeSet
	// Runtime: what it writes carries this boot's number, not 0.
	Runtime bool
	// Due, if set, is what earlier calls have left to be done. changed tells when
	// the old form was given its entry of an address, the zero time where it has
	// none, or cannot tell.
	Due func(tx ipam.Tx, changed func(netip.Addr) time.Time) error
	// Force takes an operator's step to contract although the old form's users
	// have allocations, or back although the configuration says otherwise.
	Force bool
	// Compares: a View tells the differences between the forms, which takes
	// reading all of both.
	Compares bool
}
