package powercut

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/powercut/disk"
)

// maxFaults are how many faults of one scenario are told.
const maxFaults = 5

// cut is one moment at which the power may go.
type cut struct {
	// call is the one in flight, or the one that was answered last.
	call     int
	answered bool
	after    string // the system call before it
	// since is the moment that was answered last: all from there on may be found.
	since int
}

// cutEverywhere cuts the power before the first and after every system call
// that changes anything.
func (r *run) cutEverywhere(t *testing.T) {
	r.eachCut(t, func(c cut) { r.cut(t, c) })
}

// eachCut does again what was recorded, once, and calls fn at every cut.
func (r *run) eachCut(t *testing.T, fn func(cut)) {
	t.Helper()
	since := 0
	for i, calls := range r.traced {
		fn(cut{call: i, since: since, after: "nothing"})
		for _, k := range calls {
			changed, err := r.replay.apply(k)
			if err != nil {
				t.Fatal(err)
			}
			if changed {
				name, _ := filepath.Rel(r.root, k.Path)
				fn(cut{call: i, since: since, after: k.Name + " of " + name})
			}
		}
		if r.calls[i].kill == nil && r.calls[i].what != damageFile { // what is answered is durable
			since = i + 1
			fn(cut{call: i, since: since, answered: true, after: "the answer"})
		}
	}
}

// One of so many is tried where not all are.
const (
	ofLost   = 2  // cuts in the middle of a call after which nothing is there that was not synced
	ofRandom = 4  // cuts of which another outcome is tried
	ofKept   = 16 // cuts after which everything is there
	ofKilled = 10 // calls: e2e/migration kills them as well, at each of its points

	ofExhausted = 5 // trees of which all addresses are given out
	ofHostLocal = 6 // trees of these with which host-local is called, also where all are wanted
)

func (r *run) cut(t *testing.T, c cut) {
	r.counts.cuts.Add(1)
	now := r.replay.disk.Cut()
	for _, o := range r.choose(c, now) {
		r.after(t, c, now, o, r.in(r.next), r.afterReboot, &r.counts.trees)
	}
	if r.some(ofKilled) {
		r.after(t, c, now, now.Kept(), r.node, r.afterKill, &r.counts.kills)
	}
}

// choose returns the outcomes to try.
func (r *run) choose(c cut, now disk.Cut) []disk.Outcome {
	if all() {
		return now.All(limit, r.random)
	}
	var chosen []disk.Outcome
	if c.answered || r.some(ofLost) {
		chosen = append(chosen, now.Lost())
	}
	if r.some(ofKept) {
		chosen = append(chosen, now.Kept())
	}
	if r.some(ofRandom) {
		more := now.All(limit, r.random)
		chosen = append(chosen, more[r.random.IntN(len(more))])
	}
	return chosen
}

// some is true for one of n, or always where all are wanted.
func (r *run) some(n int) bool { return all() || r.random.IntN(n) == 0 }

// after checks what the outcome leaves, if that was not done before.
func (r *run) after(t *testing.T, c cut, now disk.Cut, o disk.Outcome, n node, check func(node, cut, disk.Tree) error, count *atomic.Int64) {
	tree := now.Tree(o)
	key := fmt.Sprint(tree.Sum(), c.call, c.answered, c.since, n.boot)
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	count.Add(1)
	err := n.lay(tree)
	if err == nil {
		err = check(n, c, tree)
	}
	if err != nil {
		r.fault(t, c, o, tree, n, err)
	}
}

// fault tells what the disk had.
func (r *run) fault(t *testing.T, c cut, o disk.Outcome, tree disk.Tree, n node, err error) {
	t.Helper()
	if r.faults++; r.faults > maxFaults {
		t.Fatal("and more")
	}
	var files strings.Builder
	for _, f := range tree {
		fmt.Fprintf(&files, "\n  %s, %d bytes", f.Path, len(f.Bytes))
	}
	t.Errorf("%s, cut after %s (answered: %v), in boot %.8s, outcome %v: %v\nthe disk had:%s",
		r.calls[c.call], c.after, c.answered, n.boot, o, err, files.String())
}
