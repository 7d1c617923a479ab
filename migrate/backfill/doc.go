// Package backfill works out what a checkpoint lacks of the pods that run: from
// the sandboxes of a container runtime, and from what libcni's caches say of
// them. It reads and writes nothing itself: [Claims] lists who uses which
// address, [Claim.Decide] holds one of them against what is stored.
//
// A cached result is the best witness, as it alone knows the network. A runtime
// knows addresses and interfaces, but no network: then the address is claimed
// in every network that has it in a range, marked as a guess
// ([record.UnknownNetwork]), so that nobody else is given it in any.
package backfill
