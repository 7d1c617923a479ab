package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/e2e/trace"
)

// bound is how long any call may take, whatever fails in it: the wait for locks
// is 10 s at most.
const bound = 20 * time.Second

// run makes one traced call.
func run(t *testing.T, p trace.Process, hook trace.Hook) trace.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	o, err := trace.Run(ctx, p, hook)
	if errors.Is(err, trace.ErrUnavailable) {
		fmt.Fprintf(os.Stderr, "SKIPPED: %s: %v\n", t.Name(), err)
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if o.TimedOut {
		t.Errorf("the call did not end within %v", bound)
	}
	return o
}

// try makes one call with one fault and looks at all that follows. It reports
// whether the fault has happened.
func (f faulty) try(t *testing.T, x fault, w way) (happened bool) {
	t.Helper()
	n := newNetwork(t)
	before := f.prepare(t, n)
	o := run(t, f.process(n), x.hook(n))
	for _, c := range o.Calls {
		happened = happened || c.Injected
	}
	if !happened {
		return false
	}
	a := aftermath{faulty: f, network: n, fault: x, outcome: o, failed: o.ExitCode != 0, before: before, way: w}
	a.expectAnswer(t)
	n.expectNoSecondSync(t, o.Calls)
	a.expectAtOnce(t)
	a.callAgain(t, a.carryOn(t))
	return true
}
