package cri

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// badRuntimes do not tell what a node runs. In each of them there is one pod
// that bolt-local knows, and one that it does not.
var badRuntimes = map[string]struct {
	make func(t *testing.T) (endpoint string)
	says string // why, in the agent's words
}{
	"is not there": {
		make: newEndpoint,
	},
	"accepts and says nothing": {
		make: func(t *testing.T) string {
			endpoint := newEndpoint(t)
			listener := listen(t, endpoint)
			t.Cleanup(func() { _ = listener.Close() })
			return endpoint
		},
	},
	"hangs in its list": {
		make: func(t *testing.T) string {
			return (&fakeRuntime{sandboxes: sandboxes(2), onList: hang}).serve(t).endpoint
		},
	},
	"dies in its list": {
		make: func(t *testing.T) string {
			f := &fakeRuntime{sandboxes: sandboxes(2)}
			f.onList = f.die
			return f.serve(t).endpoint
		},
	},
	"fails to list": {
		make: func(t *testing.T) string {
			return (&fakeRuntime{sandboxes: sandboxes(2), onList: func(context.Context, int64) error {
				return status.Error(codes.Internal, "no list today")
			}}).serve(t).endpoint
		},
		says: "no list today",
	},
}

func TestWithABadRuntimeTheAgentEndsAndChangesNothing(t *testing.T) {
	for name, bad := range badRuntimes {
		t.Run(name, func(t *testing.T) {
			n := newPlainNode(t)
			n.add(t, "gone")
			before := n.holders(t)
			endpoint := bad.make(t)
			for command, run := range map[string]func(*testing.T, string) (string, error){"backfill": n.backfill, "gc": n.gc} {
				said, err := run(t, endpoint)
				if err == nil {
					t.Errorf("%s succeeds:\n%s", command, said)
				}
				expectSaid(t, said, strings.TrimPrefix(endpoint, scheme), bad.says)
				expectNoTrace(t, said)
				if diff := cmp.Diff(before, n.holders(t)); diff != "" {
					t.Errorf("%s has changed who holds what (-before +after):\n%s", command, diff)
				}
			}
			if _, err := n.gc(t, (&fakeRuntime{}).serve(t).endpoint); err != nil {
				t.Errorf("gc with a good runtime: %v", err)
			}
			if left := n.holders(t); len(left) > 0 {
				t.Errorf("with a good runtime that runs nothing, gc leaves %v", left)
			}
		})
	}
}

func TestGCFreesNothingUnlessTwoListingsAgree(t *testing.T) {
	for name, second := range map[string]func(f *fakeRuntime) error{
		"the second fails": func(*fakeRuntime) error { return status.Error(codes.Unavailable, "restarting") },
		"the second has the pod": func(f *fakeRuntime) error {
			f.sandboxes = []fakeSandbox{{id: "late", ip: "10.0.0.2"}}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newPlainNode(t)
			n.add(t, "late")
			f := &fakeRuntime{}
			f.onList = func(_ context.Context, call int64) error {
				if call == 1 {
					return nil
				}
				return second(f)
			}
			said, _ := n.gc(t, f.serve(t).endpoint) // not freeing is all that counts
			if f.lists.Load() < 2 {
				t.Errorf("gc has listed %d times:\n%s", f.lists.Load(), said)
			}
			if _, there := n.holders(t)["late"]; !there {
				t.Errorf("gc has freed what one listing lacked:\n%s", said)
			}
		})
	}
}

// That a CRI runtime has made the container, the cache alone knows.
func TestGCReadsTheCacheThatTheConfigurationNames(t *testing.T) {
	n := newPlainNode(t)
	for _, id := range []string{"pod", "other"} {
		if err := n.tryAddWith(t, id, ""); err != nil {
			t.Fatal(err)
		}
	}
	n.cache(t, "pod", n.holders(t)["pod"])
	if said, err := n.gc(t, (&fakeRuntime{}).serve(t).endpoint); err != nil {
		t.Errorf("gc: %v\n%s", err, said)
	}
	if got := slices.Collect(maps.Keys(n.holders(t))); !slices.Equal(got, []string{"other"}) {
		t.Errorf("held by %v, want other alone", got)
	}
}
