package engine_test

import (
	"errors"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
)

// Each test has generators of its own: rapid's are not for several goroutines.
func anyID() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"})
}

func anyAddr() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.7"})
}

func anyPhase() *rapid.Generator[engine.Phase] {
	return rapid.SampledFrom([]engine.Phase{"", engine.Legacy, engine.Expand, engine.Switch, engine.Contract})
}

func killPoint() *rapid.Generator[int] {
	return rapid.OneOf(rapid.Just(noKill), rapid.Just(noKill), rapid.IntRange(1, 12))
}

// noKill is the number of a failpoint that no call passes.
const noKill = 1000

// TestRandomSequences lets the verbs, the older program, operators, kills, boots
// and wipes follow each other in any order.
func TestRandomSequences(t *testing.T) {
	t.Parallel()
	for _, m := range enginetest.Pairs {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				dir, err := os.MkdirTemp("", "bolt-local-engine-")
				if err != nil {
					t.Fatal(err)
				}
				defer os.RemoveAll(dir)
				r := &randomModel{
					node: newNodeIn(t, m, dir),
					live: map[string]string{}, may: map[string]bool{}, blocked: map[string]int{},
				}
				t.Repeat(map[string]func(*rapid.T){
					"ADD":               func(t *rapid.T) { r.verbAdd(anyID().Draw(t, "id"), killPoint().Draw(t, "kill")) },
					"ADD of an address": func(t *rapid.T) { r.verbAddAsked(anyID().Draw(t, "id"), anyAddr().Draw(t, "addr")) },
					"DEL":               func(t *rapid.T) { r.verbDel(anyID().Draw(t, "id"), killPoint().Draw(t, "kill")) },
					"GC": func(t *rapid.T) {
						r.verbGC(rapid.SliceOfDistinct(anyID(), rapid.ID[string]).Draw(t, "keep"), killPoint().Draw(t, "kill"))
					},
					"older ADD":    func(t *rapid.T) { r.olderAdd(anyID().Draw(t, "id")) },
					"older DEL":    func(t *rapid.T) { r.olderDelete(anyID().Draw(t, "id")) },
					"target":       func(t *rapid.T) { r.target = anyPhase().Draw(t, "target") },
					"step by hand": func(t *rapid.T) { r.byHand(rapid.SampledFrom([]int{1, -1}).Draw(t, "by"), killPoint().Draw(t, "kill")) },
					"reboot":       func(*rapid.T) { r.allDie() },
					"another boot": func(*rapid.T) { r.anotherView() },
					"wipe":         func(t *rapid.T) { r.lose(rapid.IntRange(0, 9).Draw(t, "way")) },
					"block":        func(t *rapid.T) { r.blocks(anyAddr().Draw(t, "addr")) },
					"":             func(*rapid.T) { r.invariants() },
				})
			})
		})
	}
}

// byHand is an operator's step.
func (r *randomModel) byHand(by, kill int) {
	r.Helper()
	var err error
	r.killAt(kill, func() { err = r.step(by, true) })
	if err != nil && !errors.Is(err, errKilled) && !errors.Is(err, engine.ErrStep) && !errors.Is(err, engine.ErrUnknown) {
		r.Fatalf("the step by %d: %v", by, err)
	}
}
