package cli

import (
	"errors"
	"sync"
	"time"
)

// health is how the last round went. The zero value is that of a process that
// has had none.
type health struct {
	mu    sync.Mutex
	begun bool
	last  error
}

func (h *health) set(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun, h.last = true, err
}

func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun {
		return errors.New("the container runtime has not answered yet")
	}
	return h.last
}

// freshFor is how long the answer of a look counts for others.
const freshFor = time.Second

// shared is a look at the checkpoint, which takes the lock that pods wait for: of
// those who ask at the same time, or soon after, one has it done for all.
type shared struct {
	look func() error

	mu    sync.Mutex
	ended time.Time // the last one, zero for none
	last  error
}

func (s *shared) err() error {
	s.mu.Lock() // who waits here is told what the one before has seen
	defer s.mu.Unlock()
	if s.ended.IsZero() || time.Since(s.ended) >= freshFor {
		s.last = s.look()
		s.ended = time.Now()
	}
	return s.last
}
