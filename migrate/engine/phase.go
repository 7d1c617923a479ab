package engine

import "slices"

// Phase is where a migration from one form to the next stands.
type Phase string

// The phases, as they stand in the configuration and on disk.
const (
	Legacy   Phase = "legacy"
	Expand   Phase = "expand"
	Switch   Phase = "switch"
	Contract Phase = "contract"
)

var order = []Phase{Legacy, Expand, Switch, Contract}

// Valid tells whether p is a phase.
func (p Phase) Valid() bool { return slices.Contains(order, p) }

// Before tells whether p comes earlier than q.
func (p Phase) Before(q Phase) bool { return slices.Index(order, p) < slices.Index(order, q) }

// Next and Previous are one step away; they end at contract and legacy.
func (p Phase) Next() Phase     { return order[min(slices.Index(order, p)+1, len(order)-1)] }
func (p Phase) Previous() Phase { return order[max(slices.Index(order, p)-1, 0)] }

// Towards is one step nearer to target, p itself where there is none.
func (p Phase) Towards(target Phase) Phase {
	switch {
	case !target.Valid() || p == target:
		return p
	case p.Before(target):
		return p.Next()
	}
	return p.Previous()
}

// mirrored tells whether both forms are written.
func (p Phase) mirrored() bool { return p == Expand || p == Switch }

// Step is one from a phase to another. Where it could not be taken they are the
// same.
type Step struct{ From, To Phase }
