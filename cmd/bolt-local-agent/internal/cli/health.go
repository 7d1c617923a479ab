package cli

import (
	"errors"
	"sync"
	"time"
)

// What keeps an agent from being well before its first round has ended.
var (
	errNoAnswer   = errors.New("the container runtime has not answered yet")
	errFirstRound = errors.New("the first round is not over yet")
)

// health is how the last round went, at first errNoAnswer.
type health struct {
	mu   sync.Mutex
	last error
}

func newHealth() *health { return &health{last: errNoAnswer} }

func (h *health) set(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = err
}

func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
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
