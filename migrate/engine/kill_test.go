package engine_test

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/bolt-local/bolt-local/internal/failpoint"
)

// errKilled is the end of a call that was killed at a failpoint.
var errKilled = errors.New("killed")

// killing counts the killers, so that nobody else pays for a trace.
var killing atomic.Int32

// killers has for each goroutine in which a call is to be killed the function
// that gets its failpoints. The hook is one for the whole process, so without
// them no two tests that kill could run side by side.
var killers sync.Map

func init() {
	failpoint.Hook = func(point string) {
		if killing.Load() == 0 {
			return
		}
		if pass, ok := killers.Load(goroutine()); ok {
			pass.(func(string))(point)
		}
	}
}

// goroutine is the number of the running goroutine, which Go tells in a trace
// alone: "goroutine 7 [running]:".
func goroutine() string {
	var trace [64]byte
	fields := bytes.Fields(trace[:runtime.Stack(trace[:], false)])
	return string(fields[1])
}

// killAt ends fn's call at the nth failpoint that it passes, from 1 on. The
// transaction is gone then, and what was done to files stays. It reports false
// where the call passes fewer.
func (n *node) killAt(nth int, fn func()) (point string, killed bool) {
	passed := 0
	killing.Add(1)
	defer killing.Add(-1)
	killers.Store(goroutine(), func(name string) {
		if passed++; passed == nth {
			point, killed, n.killed = name, true, true
			panic(errKilled) // which bbolt's guard turns into an error
		}
	})
	defer killers.Delete(goroutine())
	fn()
	return point, killed
}
