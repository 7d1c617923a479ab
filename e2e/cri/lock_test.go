package cri

import (
	"context"
	"strconv"
	"testing"
)

// A runtime may ask the plugin's STATUS, or ADD a pod, before it answers: an
// agent that held the lock while it asks would be waiting for itself.
func TestPodsAreAddedWhileTheAgentAsksTheRuntime(t *testing.T) {
	n := newPlainNode(t)
	n.add(t, "gone")
	f := &fakeRuntime{sandboxes: sandboxes(1)}
	add := func(prefix string, call int64) error {
		err := n.tryAdd(t, prefix+strconv.FormatInt(call, 10))
		if err != nil {
			t.Error(err)
		}
		return err
	}
	f.onList = func(_ context.Context, call int64) error { return add("list", call) }
	f.onStatus = func(_ context.Context, call int64, _ string) error { return add("status", call) }
	f.serve(t)
	for range 2 {
		if said, err := n.backfill(t, f.endpoint); err != nil {
			t.Errorf("backfill: %v\n%s", err, said)
		}
	}
	if _, there := n.holders(t)[f.sandboxes[0].id]; !there {
		t.Error("the sandbox is not recorded")
	}
}
