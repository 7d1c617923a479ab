package store

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/record"
)

// stuck lets n tell when a call makes no progress, and returns whether it was
// told.
func (n *node) stuck() *atomic.Pointer[error] {
	var told atomic.Pointer[error]
	n.opts.Stuck = func(err error) { told.Store(&err) }
	n.longestStep = 50 * time.Millisecond
	return &told
}

func TestACallThatMakesNoProgressIsGivenUp(t *testing.T) {
	for name, loop := range map[string]func(done func() bool){
		"going in circles": func(done func() bool) {
			for !done() {
			}
		},
		"calling itself without end": func(done func() bool) { recurse(done, 0) },
		"on the clock of the process": func(done func() bool) {
			for !done() {
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newBigNode(t)
			n.opts.Alone = name == "on the clock of the process"
			told := n.stuck()
			if name == "calling itself without end" {
				n.longestStep = time.Hour // its stack alone tells
			}
			err := n.update(opAdd, func(*Network) error {
				loop(func() bool { return told.Load() != nil })
				return errTest
			})
			if !errors.Is(err, errTest) {
				t.Fatal(err)
			}
			if err := *told.Load(); !errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), n.Path()) {
				t.Errorf("told %v", err)
			}
			if !n.suspected() {
				t.Error("the next call will not look closer")
			}
			n.add("10.0.0.3", "b")
			if n.suspected() {
				t.Error("a call that has looked at everything leaves the suspicion")
			}
		})
	}
}

// recurse needs a stack without end, until done.
func recurse(done func() bool, depth int) int {
	var frame [1024]byte
	if done() {
		return depth
	}
	frame[depth%len(frame)] = 1
	return recurse(done, depth+1) + int(frame[0])
}

func TestACallThatMakesProgressIsNotGivenUp(t *testing.T) {
	n := newBigNode(t)
	told := n.stuck()
	err := n.update(opAdd, func(net *Network) error {
		c := ofThread(unix.Gettid())
		for end := c.now() + 10*n.longestStep; c.now() < end; {
			if _, _, err := net.Get(ip("10.0.1.0")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || told.Load() != nil {
		t.Errorf("error %v, told %v", err, told.Load())
	}
}

// A small file was looked at page by page: whoever is slow on it is not stuck.
func TestNobodyWatchesAFileThatWasLookedAt(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	told := n.stuck()
	err := n.update(opAdd, func(*Network) error {
		for end := time.Now().Add(10 * n.longestStep); time.Now().Before(end); {
		}
		return errTest
	})
	if !errors.Is(err, errTest) || told.Load() != nil || n.suspected() {
		t.Errorf("error %v, told %v", err, told.Load())
	}
}

// In a long-lived process others work while a transaction waits, for a lock or
// for the disk.
func TestWhatOthersDoMeanwhileIsNotCounted(t *testing.T) {
	n := newBigNode(t)
	told := n.stuck()
	var busy atomic.Bool
	busy.Store(true)
	go func() {
		for busy.Load() {
		}
	}()
	defer busy.Store(false)
	err := n.update(opAdd, func(*Network) error {
		time.Sleep(6 * n.longestStep)
		return errTest
	})
	if !errors.Is(err, errTest) || told.Load() != nil {
		t.Errorf("error %v, told %v", err, told.Load())
	}
}

// Each record is a step of a walk over pages that were all looked at.
func TestALongWalkIsNotGivenUp(t *testing.T) {
	for name, suspected := range map[string]bool{"of a file that is not suspected": false, "of one that is": true} {
		t.Run(name, func(t *testing.T) {
			n := newBigNode(t)
			if suspected {
				n.suspect()
			}
			told := n.stuck()
			walked := 0
			err := n.Read(func(tx *Tx) error {
				return tx.Network("podnet").Each(func(record.Allocation) error {
					walked++
					if walked%300 == 0 { // ten times, together longer than a step may be
						c := ofThread(unix.Gettid())
						for end := c.now() + n.longestStep/2; c.now() < end; {
						}
					}
					return nil
				})
			})
			if err != nil || told.Load() != nil || walked != 3000 {
				t.Errorf("error %v, told %v, %d records", err, told.Load(), walked)
			}
		})
	}
}

// The next call looks at all pages, and must not be given up as the one before.
func TestACallOnASuspectedFileIsNotWatched(t *testing.T) {
	n := newBigNode(t)
	n.suspect()
	told := n.stuck()
	err := n.update(opAdd, func(*Network) error {
		c := ofProcess
		for end := c.now() + 5*n.longestStep; c.now() < end; {
		}
		return errTest
	})
	if !errors.Is(err, errTest) || told.Load() != nil {
		t.Errorf("error %v, told %v", err, told.Load())
	}
}
