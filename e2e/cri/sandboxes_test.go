package cri

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// sandboxes are so many, with addresses that bolt-local would give out late.
func sandboxes(count int) []fakeSandbox {
	all := make([]fakeSandbox, count)
	addr := netip.MustParseAddr("10.0.1.1")
	for i := range all {
		all[i] = fakeSandbox{id: fmt.Sprintf("%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)})), ip: addr.String()}
		addr = addr.Next()
	}
	return all
}

func TestWithARuntimeThatDiesMidwayBackfillChangesNothing(t *testing.T) {
	n := newPlainNode(t)
	dying := &fakeRuntime{sandboxes: sandboxes(20)}
	dying.onStatus = func(ctx context.Context, call int64, _ string) error {
		if call < 4 {
			return nil
		}
		return dying.die(ctx, call)
	}
	said, err := n.backfill(t, dying.serve(t).endpoint)
	if err == nil {
		t.Errorf("backfill succeeds:\n%s", said)
	}
	expectNoTrace(t, said)
	expectAll(t, n, nil)

	good := (&fakeRuntime{sandboxes: dying.sandboxes}).serve(t)
	if said, err := n.backfill(t, good.endpoint); err != nil {
		t.Errorf("backfill with a good runtime: %v\n%s", err, said)
	}
	expectAll(t, n, good.sandboxes)
}

func TestBackfillOfTenThousandSandboxes(t *testing.T) {
	n := newPlainNode(t)
	f := (&fakeRuntime{sandboxes: sandboxes(10_000)}).serve(t)
	if said, err := n.backfill(t, f.endpoint); err != nil {
		t.Fatalf("backfill: %v\n%s", err, said)
	}
	expectAll(t, n, f.sandboxes)
	if said, err := n.gc(t, f.endpoint); err != nil {
		t.Errorf("gc: %v\n%s", err, said)
	}
	expectAll(t, n, f.sandboxes)
}

func TestOneBrokenSandboxIsReportedAndTheRestIsDone(t *testing.T) {
	for name, breakIt := range map[string]func(f *fakeRuntime, broken *fakeSandbox){
		"its status fails": func(_ *fakeRuntime, broken *fakeSandbox) {
			broken.err = status.Error(codes.Unknown, "failed to get network info")
		},
		"its status hangs": func(f *fakeRuntime, broken *fakeSandbox) {
			f.onStatus = func(ctx context.Context, call int64, id string) error {
				if id == broken.id {
					return hang(ctx, call)
				}
				return nil
			}
		},
		"its address is none": func(_ *fakeRuntime, broken *fakeSandbox) { broken.ip = "10.0.0" },
	} {
		t.Run(name, func(t *testing.T) {
			n := newPlainNode(t)
			f := &fakeRuntime{sandboxes: sandboxes(5)}
			broken := f.sandboxes[1].id
			breakIt(f, &f.sandboxes[1])
			said, err := n.backfill(t, f.serve(t).endpoint)
			expectSaid(t, said, broken)
			var rest []fakeSandbox
			for _, sandbox := range f.sandboxes {
				if sandbox.id != broken {
					rest = append(rest, sandbox)
				}
			}
			if err == nil {
				t.Error("backfill succeeds")
			}
			expectAll(t, n, rest)
		})
	}
}

// The verbose info has no contract: what cannot be read of it is not known.
func TestGarbageInTheVerboseInfoCostsTheIfnameAlone(t *testing.T) {
	n := newPlainNode(t)
	f := &fakeRuntime{sandboxes: sandboxes(3)}
	f.sandboxes[1].info = `{"cniResult":`
	if said, err := n.backfill(t, f.serve(t).endpoint); err != nil {
		t.Errorf("backfill: %v\n%s", err, said)
	}
	expectAll(t, n, f.sandboxes)
	for _, a := range testenv.Dump(t, n.dataDir).Allocations(network) {
		if garbage := a.ContainerID == f.sandboxes[1].id; slices.Contains(a.Unknown, "ifname") != garbage {
			t.Errorf("of %s, ifname is %q, and unknown is %q", a.IP, a.IfName, a.Unknown)
		}
	}
}

// What a network's configuration would say of the caches, the command line says
// where there is none.
func TestBackfillReadsTheCacheThatItIsToldForANetworkThatIsOnlyStored(t *testing.T) {
	n := newPlainNode(t)
	f := &fakeRuntime{sandboxes: sandboxes(1)}
	pod := &f.sandboxes[0]
	pod.info = "{}" // it does not tell the ifname
	n.add(t, "db")
	n.removeConfig(t)
	n.cache(t, pod.id, pod.ip)
	if said, err := n.backfill(t, f.serve(t).endpoint); err != nil {
		t.Errorf("backfill: %v\n%s", err, said)
	}
	for _, a := range testenv.Dump(t, n.dataDir).Allocations(network) {
		if a.ContainerID == pod.id && a.IfName == ifname && len(a.Unknown) == 0 {
			return
		}
	}
	t.Errorf("what the cache has of %s is not recorded: %v", pod.ip, testenv.Dump(t, n.dataDir).Allocations(network))
}

// expectAll checks that the sandboxes, and nobody else, hold their addresses.
func expectAll(t *testing.T, n plainNode, sandboxes []fakeSandbox) {
	t.Helper()
	want := map[string]string{}
	for _, s := range sandboxes {
		want[s.id] = s.ip
	}
	got := n.holders(t)
	if maps.Equal(got, want) {
		return
	}
	t.Errorf("%d sandboxes hold an address, want %d", len(got), len(want))
	if len(want) < 10 {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, got))
	}
}
