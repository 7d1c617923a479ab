package cri

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// loseAllocations spoils the checkpoint, and what it could be healed from.
func (n plainNode) loseAllocations(t *testing.T) {
	t.Helper()
	for _, name := range []string{"checkpoint.db", "journal"} {
		if err := os.WriteFile(filepath.Join(n.dataDir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestALossIsNotAcceptedUponAListingThatMayLackPods(t *testing.T) {
	for name, c := range map[string]struct {
		make func() *fakeRuntime
		says func(f *fakeRuntime) string
	}{
		"a runtime that runs nothing": {
			make: func() *fakeRuntime { return &fakeRuntime{} },
			says: func(f *fakeRuntime) string { return f.endpoint + " lists no sandbox at all" },
		},
		"a sandbox that is started meanwhile": {
			make: func() *fakeRuntime {
				f := &fakeRuntime{sandboxes: sandboxes(1)}
				f.onList = func(_ context.Context, call int64) error {
					if call == 2 {
						f.sandboxes = sandboxes(2)
					}
					return nil
				}
				return f
			},
			says: func(f *fakeRuntime) string { return "such as " + f.sandboxes[1].id },
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newPlainNode(t)
			n.add(t, "db")
			n.loseAllocations(t)
			f := c.make().serve(t)
			said, err := n.backfill(t, f.endpoint)
			if err == nil {
				t.Error("backfill succeeds")
			}
			expectSaid(t, said, "ADD stays refused", c.says(f))
			if n.tryAdd(t, "next") == nil {
				t.Error("ADD is served again")
			}

			good := (&fakeRuntime{sandboxes: sandboxes(2)}).serve(t)
			said, err = n.backfill(t, good.endpoint)
			if err != nil {
				t.Errorf("backfill with all that run: %v", err)
			}
			expectSaid(t, said, "the container runtime at "+good.endpoint, "ADD is served again")
			n.add(t, "next")
		})
	}
}

// In the first round a pod that was just started may be in no list yet.
func TestServeAcceptsALossInTheSecondRound(t *testing.T) {
	n := newPlainNode(t)
	n.add(t, "db")
	n.loseAllocations(t)
	f := (&fakeRuntime{sandboxes: sandboxes(2)}).serve(t)
	once := n.serve(t, f.endpoint, "--interval", "1h")
	eventually(t, roundsLimit, "the first round is over", func() error {
		text, err := once.get(t, "/metrics")
		if err == nil && !strings.Contains(text, `bolt_local_agent_rounds_total{result="ok",round="gc"} 1`) {
			return fmt.Errorf("the metrics are\n%s", text)
		}
		return err
	})
	if n.tryAdd(t, "next") == nil {
		t.Error("ADD is served after the first round")
	}
	n.serve(t, f.endpoint)
	eventually(t, roundsLimit, "ADD is served", func() error { return n.tryAdd(t, "next") })
}
