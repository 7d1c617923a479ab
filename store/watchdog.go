package store

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/cmdline"
)

// On a damaged page bbolt can go in circles, or call itself without end. A stack
// that grows too far ends the process with a trace, which nothing can prevent, so
// somebody has to look. What was looked at page by page before, as small files
// are, cannot do this, and the two threads that looking takes are a cost for
// processes as short as these.
const (
	watchEvery = 10 * time.Millisecond
	// longestStep is how much of the processor's time a transaction may use between
	// two beats.
	longestStep = 3 * time.Second
	// largestStacks is what all stacks may have together, in bytes. bbolt needs a
	// few kilobytes.
	largestStacks = 64 << 20
)

// watchdog watches one transaction.
type watchdog struct {
	store *Store

	clock clock // of the transaction
	mu    sync.Mutex
	timer *time.Timer // nil once it is stopped
	beat  uint64
	since time.Duration // on the clock, at the last beat
}

// beats counts the looks into buckets, and the steps of long walks; while anything
// pauses them, all watchdogs wait: a commit takes as long as the disk does.
type beats struct {
	count  atomic.Uint64
	paused atomic.Int32
}

// Outside runs fn, a part of a transaction that does not look at what is stored, or
// that takes as long as the disk does. The watchdogs wait for it.
func (s *Store) Outside(fn func()) {
	s.beats.paused.Add(1)
	defer s.beats.paused.Add(-1)
	fn()
}

// watch ends the process by way of Options.Stuck when the work on the checkpoint
// makes no progress, which does not prove that it is damaged. Call stop at the
// end, on the same goroutine: unless the process is Alone it has its thread to
// itself until then, so that what others do is not counted. sound: every page was
// looked at before, and nobody watches.
func (s *Store) watch(sound bool) (stop func()) {
	if sound {
		return func() {}
	}
	c := ofProcess
	if !s.opts.Alone {
		runtime.LockOSThread()
		c = ofThread(unix.Gettid())
	}
	w := &watchdog{store: s, clock: c, beat: s.beats.count.Load(), since: c.now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(watchEvery, w.look)
	return w.stop
}

func (w *watchdog) stop() {
	if !w.store.opts.Alone {
		runtime.UnlockOSThread()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	w.timer = nil
}

func (w *watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	beat, now := w.store.beats.count.Load(), w.clock.now()
	stuck := deep()
	switch {
	case w.store.beats.paused.Load() > 0, beat != w.beat:
		w.beat, w.since = beat, now
	case now-w.since > w.store.longestStep:
		stuck = true
	}
	if !stuck {
		w.timer.Reset(watchEvery)
		return
	}
	w.store.suspect()
	w.store.opts.Stuck(fmt.Errorf("%w: %s: the checkpoint was not changed; `%s` looks at all of it, and so does the next call",
		ErrStuck, w.store.Path(), cmdline.Command(w.store.dir, "migrate", "verify")))
}

// deep reports whether the stacks have grown too far. To ask for their size takes
// longer than most transactions, and of such stacks the process has half in memory.
func deep() bool {
	if n := resident(); n != 0 && n < largestStacks/2 {
		return false
	}
	return stacks() > largestStacks
}

// resident is what the process has in memory, in bytes, 0 where that cannot be
// told.
func resident() uint64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(statm), " ") // the size of the mappings
	pages, _, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseUint(pages, 10, 64)
	if err != nil {
		return 0
	}
	return n * uint64(os.Getpagesize())
}

// stacks is what all stacks have together, in bytes. Package runtime/metrics has
// it without stopping the others for a moment, but costs every process that
// links it more at its start than most processes live to see here.
func stacks() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.StackInuse
}

// clock is one of the kernel's that counts the processor's time.
type clock int32

// ofProcess counts that of all threads of this process.
const ofProcess clock = unix.CLOCK_PROCESS_CPUTIME_ID

// ofThread counts that of one of them.
func ofThread(thread int) clock {
	// As the C library's pthread_getcpuclockid makes it; see the kernel's
	// include/linux/posix-timers_types.h.
	const sched, perThread = 2, 4
	return clock(^thread)<<3 | sched | perThread
}

// now is what was used, 0 where that cannot be told.
func (c clock) now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(c), &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// suspect makes the next call look at all pages, however many.
func (s *Store) suspect() {
	if _, err := owned(s.paths()...); err != nil {
		return // its owner could not remove that mark
	}
	if f, err := openRegular(s.file(suspectFile), os.O_WRONLY|os.O_CREATE); err == nil {
		_ = f.Close()
	}
}

// suspected tells whether a call before this one was given up.
func (s *Store) suspected() bool { return exists(s.file(suspectFile)) }

// trust is for a writer that has looked at all pages.
func (s *Store) trust() { _ = os.Remove(s.file(suspectFile)) }

// exitStuck is for a program that does not say what to do.
func exitStuck(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
