package cri

import "errors"

var (
	// ErrNoRuntime: there is no socket where one was looked for.
	ErrNoRuntime = errors.New("no container runtime was found")

	// ErrRuntime: the runtime does not answer, or not with what was asked for.
	ErrRuntime = errors.New("the container runtime")
)
