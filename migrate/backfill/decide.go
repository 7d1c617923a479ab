package backfill

import (
	"slices"

	"github.com/bolt-local/bolt-local/store/record"
)

// Outcome is what becomes of a claim.
type Outcome string

// The outcomes.
const (
	Added     Outcome = "added"     // nobody held the address in this boot
	Completed Outcome = "completed" // the record lacked something
	Known     Outcome = "known"     // it had all of it
	Conflict  Outcome = "conflict"  // another container holds the address, and keeps it
	Gone      Outcome = "gone"      // its pod has ended meanwhile
	Blocked   Outcome = "blocked"   // the address is set aside, and given to nobody
)

// Stored tells whether the claim's container is recorded with the address.
func (o Outcome) Stored() bool { return o == Added || o == Completed || o == Known }

// Decide holds c against what is stored of its address, and returns the
// allocation to store where that changes. stale tells of one of an earlier boot.
// What is added carries no boot's number, which counts as this one.
func (c Claim) Decide(stored record.Allocation, held bool, stale func(record.Allocation) bool) (Outcome, record.Allocation) {
	if !held || stale(stored) {
		return Added, record.Allocation{Addr: c.Addr, Holders: []record.Holder{c.Holder}}
	}
	i := slices.IndexFunc(stored.Holders, func(h record.Holder) bool { return h.MayBe(c.Holder.Attachment) })
	if i < 0 {
		// Another interface of the same container: nobody else is given it.
		if slices.ContainsFunc(stored.Holders, func(h record.Holder) bool { return h.ContainerID == c.Holder.ContainerID }) {
			return Known, stored
		}
		return Conflict, stored
	}
	h, changed := c.complete(stored.Holders[i])
	if !changed {
		return Known, stored
	}
	stored.Holders = slices.Clone(stored.Holders)
	stored.Holders[i] = h
	return Completed, stored
}

// complete fills in what h lacks. What is recorded is never replaced.
func (c Claim) complete(h record.Holder) (_ record.Holder, changed bool) {
	if h.IfName == "" && c.Holder.IfName != "" {
		h.IfName, changed = c.Holder.IfName, true
		h = h.Knowing(record.UnknownIfName)
	}
	if h.Guessed() && !c.Holder.Guessed() {
		h, changed = h.Knowing(record.UnknownNetwork), true
	}
	if h.NetNS.Inode == 0 && c.Holder.NetNS.Inode != 0 {
		h.NetNS, changed = c.Holder.NetNS, true
	}
	if h.Pod == (record.Pod{}) && c.Holder.Pod != (record.Pod{}) {
		h.Pod, changed = c.Holder.Pod, true
	}
	if h.AllocatedAt.IsZero() && !c.Holder.AllocatedAt.IsZero() {
		h.AllocatedAt, changed = c.Holder.AllocatedAt, true
	}
	if h.BootTime == 0 && c.Holder.BootTime != 0 { // it is this old at least
		h.BootTime, changed = c.Holder.BootTime, true
	}
	return h, changed
}
