package engine

import "errors"

var (
	// ErrPhase: what is stored of the migration is not what this version writes.
	ErrPhase = errors.New("the migration is in a state that this version does not know")

	// ErrPlace: the configuration names another place for the old form than the
	// one that is stored.
	ErrPlace = errors.New("the configuration names another place for the old form")

	// ErrAnothers: another checkpoint has taken the network over in this boot.
	ErrAnothers = errors.New("the network is another checkpoint's")

	// ErrUnknown: the network is not stored.
	ErrUnknown = errors.New("the network is not stored; its first ADD makes it so")

	// ErrStep: a step by hand that cannot be taken.
	ErrStep = errors.New("the step cannot be taken")

	// ErrAside: an address is asked for that the old form blocks.
	ErrAside = errors.New("the address is set aside")
)
