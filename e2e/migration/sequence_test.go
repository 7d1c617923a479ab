package migration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

const (
	sequences = 20
	legs      = 7 // stances of each
	many      = 4 // changes
)

// An up/down/up cycle must never believe a stale form, whatever happened on the
// way: each stance, with no, one or many changes, in any order.
func TestEveryOrderOfUpDownAndUpAgainEndsInWhatTheModelSays(t *testing.T) {
	t.Parallel()
	seed := testenv.Seed(t)
	for i := range sequences {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			w := &walk{network: newNetwork(t, t.TempDir()), model: newModel(), rand: testenv.Rand(seed, uint64(i))}
			if i%2 == 1 {
				w.dataDir = w.parent // as where the type alone is changed
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("sequence %d of seed %d:\n%s", i, seed, strings.Join(w.log, "\n"))
				}
			})
			for range legs {
				stance := stances[w.rand.IntN(len(stances))]
				for range []int{0, 1, many}[w.rand.IntN(3)] {
					w.change(t, stance)
					w.expect(t)
					if t.Failed() {
						return
					}
				}
			}
		})
	}
}

// change makes one call, or two, of the stance's binary.
func (w *walk) change(t *testing.T, stance string) {
	t.Helper()
	ids := w.model.pods.ids()
	switch {
	case len(ids) == 0 || w.rand.IntN(2) == 0:
		w.next++
		w.add(t, stance, fmt.Sprintf("c%d", w.next))
	case w.rand.IntN(3) == 0:
		w.again(t, stance, pick(w.rand, ids))
	case stance != hostLocal && w.rand.IntN(4) == 0:
		w.sweep(t, stance, pick(w.rand, ids))
	default:
		w.del(t, stance, pick(w.rand, ids))
	}
}

func pick(r *rand.Rand, ids []string) string { return ids[r.IntN(len(ids))] }

func (w *walk) note(stance, format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%-10s ", stance)+fmt.Sprintf(format, args...))
}

// shut tells whether the stance is host-local's and that must fail.
func (w *walk) shut(t *testing.T, stance, verb, id string) bool {
	t.Helper()
	if stance == hostLocal && w.model.phase == contract {
		w.note(stance, "%s %s fails", verb, id)
		w.theirs().fails(t, verb, id)
		return true
	}
	return false
}

func (w *walk) plugin(stance string) plugin {
	if stance == hostLocal {
		return w.theirs()
	}
	return w.ours(stance)
}

func (w *walk) add(t *testing.T, stance, id string) {
	t.Helper()
	if w.shut(t, stance, "ADD", id) {
		return
	}
	w.began(stance, true)
	w.model.pods.add(t, w.plugin(stance), id)
	w.granted(stance, id)
	w.note(stance, "ADD %s: %s, phase %s", id, w.model.pods[id], w.model.phase)
}

func (w *walk) del(t *testing.T, stance, id string) {
	t.Helper()
	if w.shut(t, stance, "DEL", id) {
		return
	}
	w.began(stance, false)
	w.plugin(stance).del(t, id)
	w.model.drop(id)
	w.note(stance, "DEL %s, phase %s", id, w.model.phase)
}

// again frees an address and gives it to the same container: the directory then
// has the very same bytes.
func (w *walk) again(t *testing.T, stance, id string) {
	t.Helper()
	addr := w.model.pods[id]
	if w.shut(t, stance, "DEL", id) {
		return
	}
	w.del(t, stance, id)
	w.began(stance, true)
	w.plugin(stance).addAt(t, id, addr)
	w.model.pods[id] = addr
	w.granted(stance, id)
	w.note(stance, "ADD %s at %s, phase %s", id, addr, w.model.phase)
}

// sweep is a GC that leaves one container out.
func (w *walk) sweep(t *testing.T, stance, id string) {
	t.Helper()
	w.began(stance, false)
	w.gc(t, stance, slices.DeleteFunc(w.model.pods.ids(), func(other string) bool { return other == id })...)
	w.model.drop(id)
	w.note(stance, "GC without %s, phase %s", id, w.model.phase)
}

// began is what a call does before its verb.
func (w *walk) began(stance string, grants bool) {
	switch {
	case stance == hostLocal:
		w.model.used = true
	case w.model.phase != "":
		if grants {
			w.model.step(stance)
		}
	case w.model.used || grants:
		w.model.enter(stance)
	}
}

// granted notes who gave an address.
func (w *walk) granted(stance, id string) {
	if stance == hostLocal || w.model.phase == legacy {
		w.model.theirs[id] = true
	}
}
