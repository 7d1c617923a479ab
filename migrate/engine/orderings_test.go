package engine_test

import (
	"fmt"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
)

// TestEveryOrderingFromANewNetwork goes every way of two places, of four in a
// run without haste, and so has a network born in each place.
func TestEveryOrderingFromANewNetwork(t *testing.T) {
	t.Parallel()
	long, ways := 2, 1
	if *everything {
		long = 4
	}
	for range long {
		ways *= len(places)
	}
	for _, m := range enginetest.Pairs {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			for way := range ways {
				w := newWalker(newNode(t, m))
				for i, at := 0, way; i < long; i, at = i+1, at/len(places) {
					w.goTo(places[at%len(places)], (way/7+i*i)%3)
				}
				if t.Failed() {
					t.FailNow()
				}
			}
		})
	}
}

// TestEveryOrderingOfFourPlaces goes a walk that has every way of four places in
// it, so that each begins with what others have left. In the quick run the real
// pair, which waits for the disk, has every way of three.
func TestEveryOrderingOfFourPlaces(t *testing.T) {
	const parts = 4 // they wait side by side
	t.Parallel()
	for i, m := range enginetest.Pairs {
		long := 4
		if i == 0 && !*everything {
			long = 3
		}
		walk := deBruijn(len(places), long)
		for part := range parts {
			t.Run(fmt.Sprint(m.Name, " ", part), func(t *testing.T) {
				t.Parallel()
				from, to := len(walk)*part/parts, len(walk)*(part+1)/parts
				w := newWalker(newNode(t, m))
				for i, at := range walk[from:min(to+long-1, len(walk))] {
					w.goTo(places[at], i%3)
					w.trail = w.trail[max(0, len(w.trail)-6):]
					if t.Failed() {
						t.FailNow()
					}
				}
				if err := w.pair.New.Verify(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// deBruijn returns a sequence of 0 to k-1 in which every sequence of n of them
// stands once. It appends those Lyndon words whose length divides n, in order.
func deBruijn(k, n int) []int {
	var all []int
	word := make([]int, n+1)
	var extend func(at, period int)
	extend = func(at, period int) {
		if at > n {
			if n%period == 0 {
				all = append(all, word[1:period+1]...)
			}
			return
		}
		word[at] = word[at-period]
		extend(at+1, period)
		for next := word[at-period] + 1; next < k; next++ {
			word[at] = next
			extend(at+1, at)
		}
	}
	extend(1, 1)
	return append(all, all[:n-1]...)
}
