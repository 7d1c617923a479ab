package store

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/internal/failpoint"
)

// points calls hook at each failpoint that fn passes.
func points(t *testing.T, hook func(name string), fn func()) {
	t.Helper()
	failpoint.Hook = hook
	defer func() { failpoint.Hook = nil }()
	fn()
}

func TestTheFailpointsOfACall(t *testing.T) {
	n := newNode(t)
	for _, c := range []struct {
		name string
		fn   func()
		want []string
	}{
		{"the first ADD", func() { n.add("10.0.0.2", "a") },
			[]string{"store.created", "store.before-commit", "store.after-commit", "store.after-journal", "store.after-witness"}},
		{"an ADD", func() { n.add("10.0.0.3", "b") },
			[]string{"store.before-commit", "store.after-commit", "store.after-journal", "store.after-witness"}},
		{"a DEL", func() { n.del("10.0.0.3") },
			[]string{"store.before-commit", "store.after-commit", "store.after-journal", "store.after-witness"}},
		{"a DEL of nothing", func() { n.del("10.0.0.3") }, nil},
	} {
		var passed []string
		points(t, func(name string) { passed = append(passed, name) }, c.fn)
		if diff := cmp.Diff(c.want, passed); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// What a killed process leaves is what its files hold at that point.
func TestWhatIsLeftAtEachFailpointIsCarriedOn(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(n *node)
		fn     func(n *node)
		want   []string // either of these is held
	}{
		{"the first ADD", func(*node) {}, func(n *node) { n.add("10.0.0.2", "a") }, []string{"map[]", "map[10.0.0.2:a]"}},
		{"an ADD", func(n *node) { n.add("10.0.0.2", "a") }, func(n *node) { n.add("10.0.0.3", "b") },
			[]string{"map[10.0.0.2:a]", "map[10.0.0.2:a 10.0.0.3:b]"}},
		{"a DEL", func(n *node) { n.add("10.0.0.2", "a") }, func(n *node) { n.del("10.0.0.2") }, []string{"map[10.0.0.2:a]", "map[]"}},
		{"an ADD in a new boot", func(n *node) { n.add("10.0.0.2", "a"); n.boot = "boot-002" }, func(n *node) { n.add("10.0.0.3", "b") },
			[]string{"map[10.0.0.2:a]", "map[10.0.0.2:a 10.0.0.3:b]"}},
	} {
		n := newNode(t)
		c.before(n)
		left := map[string]string{} // point -> copy of the data directory
		points(t, func(name string) { left[name] = copyDir(t, n.dir) }, func() { c.fn(n) })
		if len(left) < 4 {
			t.Errorf("%s passes %d points", c.name, len(left))
		}
		for point, dir := range left {
			t.Run(c.name+", "+point, func(t *testing.T) {
				after := newNodeIn(t, dir)
				after.boot = n.boot
				want := c.want[0]
				if point == "store.after-commit" || point == "store.after-journal" || point == "store.after-witness" {
					want = c.want[1]
				}
				if got := fmt.Sprint(after.held()); got != want {
					t.Errorf("held %s, want %s", got, want)
				}
				after.add("10.0.0.9", "z")
				if after.held()["10.0.0.9"] != "z" {
					t.Error("the next ADD is not there")
				}
				after.journalIsComplete()
				if _, err := os.Stat(after.file(newCheckpointFile)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the unfinished checkpoint: %v", err)
				}
			})
		}
	}
}
