package powercut

import (
	"math/rand/v2"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/trace"
)

// run is a scenario that was recorded.
type run struct {
	scenario
	node
	next   string  // the boot after the power cut
	replay *replay // as before the first call
	marks  marks
	traced [][]trace.Call // of each call
	// moments has what both forms said before the first call, and after each.
	moments []moment
	forgets bool // see forgetful
	random  *rand.Rand
	counts  counts
	seen    map[string]bool // trees that were tried already
	faults  int
}

// begin makes a node on which all has happened that is not recorded.
func (s scenario) begin(t *testing.T) node {
	t.Helper()
	n := newNode(t, s.sets)
	for _, c := range s.base {
		c.happen(t, n)
	}
	return n
}

// record lets the calls happen. What the node has before is durable.
func (s scenario) record(t *testing.T, n node) *run {
	t.Helper()
	r := &run{scenario: s, node: n, next: bootAfter, marks: marks{}, seen: map[string]bool{}}
	live, err := newReplay(n.root)
	if err != nil {
		t.Fatal(err)
	}
	if r.replay, err = newReplay(n.root); err != nil {
		t.Fatal(err)
	}
	r.look(t, live, call{what: "all that was before"})
	for _, c := range s.calls {
		o := c.record(t, n)
		for _, k := range o.Calls {
			if _, err := live.apply(k); err != nil {
				t.Fatal(err)
			}
		}
		if err := live.faithful(); err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		r.traced = append(r.traced, o.Calls)
		r.look(t, live, c)
	}
	return r
}

// look notes the moment, and the marks of the files that are there.
func (r *run) look(t *testing.T, live *replay, after call) {
	t.Helper()
	m, err := r.moment()
	if err != nil && r.damagedBy(after) {
		m, err = moment{damaged: true}, nil
	}
	if err != nil {
		t.Fatalf("after %s: %v", after, err)
	}
	r.moments = append(r.moments, m)
	if err := r.marks.note(live); err != nil {
		t.Fatalf("after %s: %v", after, err)
	}
}

// damagedBy tells that the call has damaged the checkpoint, or was killed before
// it was healed.
func (r *run) damagedBy(c call) bool {
	return c.what == damageFile || c.kill != nil && r.moments[len(r.moments)-1].damaged
}
