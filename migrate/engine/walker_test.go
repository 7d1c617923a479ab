package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
)

// olderAlone is the place in which the program that knows the old form alone
// runs, and nobody else.
const olderAlone engine.Phase = "older"

var places = []engine.Phase{olderAlone, engine.Legacy, engine.Expand, engine.Switch, engine.Contract}

// walker goes from place to place with pods running, beside a plain map of who
// holds what.
type walker struct {
	*node
	phase  engine.Phase      // "" while the network is not known
	held   map[string]string // address to pod
	theirs map[string]bool   // pods whose allocation the old form's users made
	pods   int
	trail  []string
}

func newWalker(n *node) *walker {
	return &walker{node: n, held: map[string]string{}, theirs: map[string]bool{}}
}

// resident is the pod whose repeated ADDs take the steps.
const resident = "resident"

// goTo goes to a place, one ADD for each step, makes some changes there and
// checks everything.
func (w *walker) goTo(place engine.Phase, changes int) {
	w.Helper()
	w.trail = append(w.trail, fmt.Sprintf("%s, %d changes", place, changes))
	if place == olderAlone {
		w.olderChanges(changes)
	} else {
		w.reach(place)
		w.changes(changes)
		if changes > 1 && w.phase == engine.Switch && place == engine.Contract {
			w.drain()
			w.reach(place)
		}
	}
	w.check()
}

// reach sets the target and repeats the resident's ADD until the phase is
// there, or waits.
func (w *walker) reach(target engine.Phase) {
	w.Helper()
	w.target = target
	for range len(places) {
		next, waits := w.next(target)
		addr := w.mustAdd(resident)
		if was, there := w.addrOf(resident); there && was != addr {
			w.Fatalf("%v: the resident has %s and was answered %s", w.trail, was, addr)
		}
		if w.phase == engine.Legacy && next == engine.Expand {
			for _, pod := range w.held {
				w.theirs[pod] = true // nobody remembers who made a file
			}
		}
		w.phase = next
		w.took(resident, addr)
		got := w.progress()
		if got.Phase != next || (got.Waits != "") != waits {
			w.Fatalf("%v: phase %q, waits %q; want %q, waits: %t", w.trail, got.Phase, got.Waits, next, waits)
		}
		if waits && !strings.Contains(got.Waits, "made by") {
			w.Fatalf("%v: waits for %q", w.trail, got.Waits)
		}
		if waits || next == target {
			return
		}
	}
	w.Fatalf("%v: %s was not reached", w.trail, target)
}

// next is the phase after the next ADD.
func (w *walker) next(target engine.Phase) (next engine.Phase, waits bool) {
	if w.phase == "" {
		if target == engine.Contract && len(w.held) > 0 {
			return engine.Switch, false
		}
		return target, false
	}
	next = w.phase.Towards(target)
	if next == engine.Contract && w.phase != next && len(w.theirs) > 0 {
		return w.phase, true
	}
	return next, false
}

func (w *walker) addrOf(pod string) (string, bool) {
	for addr, p := range w.held {
		if p == pod {
			return addr, true
		}
	}
	return "", false
}

func (w *walker) took(pod, addr string) {
	w.Helper()
	if holder, taken := w.held[addr]; taken && holder != pod {
		w.Fatalf("%v: %s was given to %s, and %s holds it", w.trail, addr, pod, holder)
	}
	w.held[addr] = pod
	if w.phase != engine.Legacy {
		delete(w.theirs, pod) // its DEL will come here
	}
}

func (w *walker) newPod() string {
	w.pods++
	return fmt.Sprint("pod", w.pods)
}

// oldest is a pod to delete; the resident is the last.
func (w *walker) oldest() string {
	addrs := slices.SortedFunc(maps.Keys(w.held), func(a, b string) int { return ip(a).Compare(ip(b)) })
	for _, addr := range addrs {
		if w.held[addr] != resident {
			return w.held[addr]
		}
	}
	return ""
}

func (w *walker) changes(n int) {
	w.Helper()
	if n == 1 && len(w.trail)%2 == 0 && w.oldest() != "" {
		w.remove(w.oldest())
		return
	}
	for range n {
		pod := w.newPod()
		w.took(pod, w.mustAdd(pod))
	}
	if n > 1 {
		w.remove(w.oldest())
		w.idle()
		for len(w.held) > 9 {
			w.remove(w.oldest())
		}
	}
}

func (w *walker) remove(pod string) {
	w.Helper()
	addr, _ := w.addrOf(pod)
	w.mustDel(pod)
	delete(w.held, addr)
	delete(w.theirs, pod)
}

// drain deletes every pod that the old form's users have.
func (w *walker) drain() {
	w.Helper()
	for pod := range maps.Clone(w.theirs) {
		w.remove(pod)
	}
	w.took(resident, w.mustAdd(resident))
}

// olderChanges are those of the older program, which fails where the form is
// shut.
func (w *walker) olderChanges(n int) {
	w.Helper()
	if w.phase == engine.Contract {
		err := w.pair.Old.Add(eth0("outsider"), ip("10.0.0.60"))
		_, delErr := w.pair.Old.Del(eth0(resident))
		if !errors.Is(err, enginetest.ErrShut) || !errors.Is(delErr, enginetest.ErrShut) {
			w.Fatalf("%v: the older program ran although its form is shut: %v, %v", w.trail, err, delErr)
		}
		return
	}
	if n == 1 && len(w.trail)%2 == 0 && w.oldest() != "" {
		w.olderRemove(w.oldest())
		return
	}
	for range n {
		w.olderAdd()
	}
	if n > 1 {
		w.olderRemove(w.oldest())
	}
}

func (w *walker) olderAdd() {
	w.Helper()
	seen := entries(w.look())
	for addr := ip("10.0.0.2"); ; addr = addr.Next() {
		if _, taken := seen[addr.String()]; !taken {
			pod := w.newPod()
			w.older(pod, addr.String())
			w.held[addr.String()], w.theirs[pod] = pod, true
			return
		}
	}
}

func (w *walker) olderRemove(pod string) {
	w.Helper()
	addr, _ := w.addrOf(pod)
	w.olderDel(pod)
	delete(w.held, addr)
	delete(w.theirs, pod)
}

// check holds the view and both forms against the model.
func (w *walker) check() {
	w.Helper()
	v := w.view()
	w.wantHeld(fmt.Sprintf("%v: the view", w.trail), v.held(), w.held)
	if w.phase != engine.Contract {
		w.wantHeld(fmt.Sprintf("%v: the old form", w.trail), entries(v.Old), w.held)
	}
	switch w.phase {
	case engine.Expand, engine.Switch:
		// The older program's changes are not yet taken over.
		if !v.Changed && len(v.Differences) > 0 {
			w.Errorf("%v: the forms differ: %v", w.trail, v.Differences)
		}
	case engine.Contract:
		if v.Old.Shut == nil {
			w.Errorf("%v: the old form is not shut", w.trail)
		}
	}
}
