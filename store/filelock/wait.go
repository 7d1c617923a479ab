package filelock

import (
	"errors"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// pollEvery is how often a lock is asked for that is not waited for in the
// kernel.
const pollEvery = 10 * time.Millisecond

// lockBy asks again after a signal.
func lockBy(l *flock.Flock, deadline time.Time) error {
	for {
		err := ask(l, deadline)
		if !errors.Is(err, unix.EINTR) || time.Now().After(deadline) {
			return err
		}
	}
}

// ask asks once without waiting and then waits in the kernel, which serves
// waiters in the order they came.
func ask(l *flock.Flock, deadline time.Time) error {
	if ok, err := l.TryLock(); ok || err != nil {
		return err
	}
	left := time.Until(deadline)
	switch {
	case left <= 0:
		return ErrLocked
	case abandoned.any(l.Path()):
		return poll(l, deadline)
	}
	return wait(l, left)
}

// wait waits in the kernel. That cannot be interrupted: past the bound it is
// left to a goroutine, which gives the lock back as soon as it has it. The
// goroutine, its thread and its file stay until then.
func wait(l *flock.Flock, bound time.Duration) error {
	got := make(chan error)
	giveUp := make(chan struct{})
	go func() {
		err := l.Lock()
		select {
		case got <- err:
		case <-giveUp:
			if err == nil {
				_ = (&Lock{l}).Unlock()
			}
			abandoned.add(l.Path(), -1)
		}
	}()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case err := <-got:
		return err
	case <-timer.C:
		abandoned.add(l.Path(), +1)
		close(giveUp)
		return ErrLocked
	}
}

// poll is out of turn, and leaves nothing behind.
func poll(l *flock.Flock, deadline time.Time) error {
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return ErrLocked
		}
		time.Sleep(min(left, pollEvery))
		if ok, err := l.TryLock(); ok || err != nil {
			return err
		}
	}
}

// abandoned counts by path the waiters of this process that were given up and
// are still in the kernel. While there is one nobody joins it: a process that
// lives long would collect threads for as long as the lock is held.
var abandoned = waiters{count: map[string]int{}}

type waiters struct {
	mu    sync.Mutex
	count map[string]int
}

func (w *waiters) any(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count[path] > 0
}

func (w *waiters) add(path string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count[path] += n; w.count[path] == 0 {
		delete(w.count, path)
	}
}
