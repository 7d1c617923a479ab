package hostlocal

import (
	"fmt"
	"testing"

	"github.com/bolt-local/bolt-local/internal/failpoint"
)

// hook sets failpoint.Hook for the rest of the test.
func hook(t *testing.T, fn func(point string)) {
	t.Helper()
	before := failpoint.Hook
	failpoint.Hook = fn
	t.Cleanup(func() { failpoint.Hook = before })
}

// passing is the nth time that a call passes a point.
type passing struct {
	point string
	nth   int
}

func (p passing) String() string { return fmt.Sprintf("%s#%d", p.point, p.nth) }

// passings are those of a call that must succeed.
func passings(t *testing.T, call func() error) []passing {
	t.Helper()
	var list []passing
	times := map[string]int{}
	hook(t, func(point string) {
		times[point]++
		list = append(list, passing{point, times[point]})
	})
	must(t, call())
	hook(t, nil)
	return list
}

// cut leaves a call at a passing for ever, as a kill does: nothing of it runs
// any more, not even what it has deferred.
func cut(t *testing.T, at passing, call func() error) {
	t.Helper()
	reached, ended := make(chan struct{}), make(chan error, 1)
	times := 0
	hook(t, func(point string) {
		if point != at.point {
			return
		}
		if times++; times == at.nth {
			close(reached)
			select {}
		}
	})
	go func() { ended <- call() }()
	select {
	case <-reached:
	case err := <-ended:
		t.Fatalf("it ended with %v before it passed %v", err, at)
	}
	hook(t, nil)
}

// cutEverywhere runs a test for each passing of a call on what setup makes: the
// call was cut there.
func cutEverywhere(t *testing.T, setup func(t *testing.T) *Dir, call func(*testing.T, *Dir) error, then func(*testing.T, *Dir)) {
	t.Helper()
	whole := setup(t)
	all := passings(t, func() error { return call(t, whole) })
	if len(all) == 0 {
		t.Fatal("it passes no point")
	}
	for _, at := range all {
		t.Run("cut at "+at.String(), func(t *testing.T) {
			d := setup(t)
			cut(t, at, func() error { return call(t, d) })
			then(t, d)
		})
	}
}
