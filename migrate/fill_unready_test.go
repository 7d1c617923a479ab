package migrate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/backfill"
)

// containerd shows a sandbox as not ready whose state it could not load.
func TestALossIsNotAcceptedWhileASandboxThatIsNotReadyMayRun(t *testing.T) {
	for name, c := range map[string]struct {
		told   func(n *ailing) ([]backfill.Sandbox, error)
		cached bool
		want   string // a part of why not, "" where it is accepted
	}{
		"its namespace is alive": {
			told: func(n *ailing) ([]backfill.Sandbox, error) { return []backfill.Sandbox{n.runs("b", "10.6.0.3")}, nil },
			want: "sandbox b is not ready, and its network namespace /ns/b is alive",
		},
		"its namespace is gone": {
			told: func(n *ailing) ([]backfill.Sandbox, error) {
				s := n.runs("b", "10.6.0.3")
				n.ended("b")
				return []backfill.Sandbox{s}, nil
			},
		},
		"it is gone itself": {told: func(*ailing) ([]backfill.Sandbox, error) { return nil, nil }},
		"nobody can tell":   {told: func(*ailing) ([]backfill.Sandbox, error) { return nil, errors.New("no answer") }, want: "no answer"},
		"a cache has it":    {cached: true}, // so that the repair records it
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			a := n.mustAdd("podnet", "", "a")
			if c.cached {
				n.cached("podnet", "10.6.0.3", "b")
				n.runs("b", "10.6.0.3")
			}
			fill := Backfill{
				Configs:  []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")},
				Running:  []backfill.Sandbox{n.runs("a", a.String())},
				NotReady: []string{"b"},
				Complete: true,
			}
			fill.Unready = func(ids []string) ([]backfill.Sandbox, error) {
				t.Errorf("asked for %q, where nothing is lost", ids)
				return nil, nil
			}
			n.fills(fill)
			n.lostAll()
			fill.Unready = func(ids []string) ([]backfill.Sandbox, error) {
				if !slices.Equal(ids, []string{"b"}) {
					t.Errorf("asked for %q", ids)
				}
				return c.told(n)
			}
			if r := n.fills(fill); r.Accepted != (c.want == "") || !strings.Contains(r.Lost, c.want) {
				t.Errorf("accepted %v, lost %q", r.Accepted, r.Lost)
			}
		})
	}
}
