package cli

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// What keeps an agent from being well before its first round has ended.
var (
	errNoAnswer   = errors.New("the container runtime has not answered yet")
	errFirstRound = errors.New("the first round is not over yet")
)

// health is how the last round went, at first errNoAnswer, and when it ended.
type health struct {
	now   func() time.Time
	limit time.Duration // between the ends of two rounds

	mu    sync.Mutex
	last  error
	ended time.Time // the last round, or the start
}

func newHealth(now func() time.Time, limit time.Duration) *health {
	return &health{now: now, limit: limit, last: errNoAnswer, ended: now()}
}

// longestRound is far more than a round takes that ends at all: it asks the runtime
// some twenty times for longer than one answer may take, and waits for the lock.
func longestRound(timeout, confirmAfter time.Duration) time.Duration {
	return 10*time.Minute + 25*timeout + confirmAfter
}

// set says how it goes within a round.
func (h *health) set(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = err
}

// roundEnded says how a round went.
func (h *health) roundEnded(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.ended = err, h.now()
}

func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// hangs is an error where no round has ended for too long: a call of a file system
// that does not answer has no deadline.
func (h *health) hangs() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	since := h.now().Sub(h.ended)
	if since <= h.limit {
		return nil
	}
	return fmt.Errorf("no round has ended for %s: see whether the file systems of the data directory, --conf-dir and the caches answer", since.Round(time.Second))
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
