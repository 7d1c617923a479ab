package nodestatus_test

import (
	"fmt"
	"testing"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store/record"
)

// attention is what a snapshot needs some for.
func attention(snap nodestatus.Snapshot) []nodestatus.Notice {
	return nodestatus.New(snap, nodestatustest.Plugin()).Attention
}

func TestCommandsNameTheNetworkAndAnotherDataDirectory(t *testing.T) {
	snap := nodestatustest.Snapshot()
	snap.Path = "/srv/pod's net/checkpoint.db"
	for _, n := range attention(snap) {
		if n.Kind == nodestatus.KindNamespaceGone {
			if want := `bolt-local gc --network podnet --data-dir '/srv/pod'\''s net'`; n.Command != want {
				t.Errorf("command = %s, want %s", n.Command, want)
			}
			return
		}
	}
	t.Error("nothing is told of a namespace that is gone")
}

func TestSetsAreReportedFrom90Percent(t *testing.T) {
	ranges := nodestatustest.Snapshot().Networks[0].Ranges[:1] // of 253 addresses
	for held, want := range map[int]nodestatus.Kind{227: "", 228: nodestatus.KindNearlyFull, 252: nodestatus.KindNearlyFull, 253: nodestatus.KindExhausted} {
		n := nodestatus.Network{Name: "podnet", Ranges: ranges}
		for i := range held {
			n.Allocations = append(n.Allocations, nodestatustest.Held(fmt.Sprintf("10.1.0.%d", 2+i), nodestatustest.Boot))
		}
		got := nodestatus.Kind("")
		if found := attention(nodestatus.Snapshot{Epoch: nodestatustest.Boot, Networks: []nodestatus.Network{n}}); len(found) > 0 {
			got = found[0].Kind
		}
		if got != want {
			t.Errorf("%d of 253 is reported as %q, want %q", held, got, want)
		}
	}
}

func TestOverlapsAreThoseOfNetworksThatHoldSomething(t *testing.T) {
	ranges := nodestatustest.Snapshot().Networks[0].Ranges[:1]
	now := []record.Allocation{nodestatustest.Held("10.1.0.2", nodestatustest.Boot)}
	before := []record.Allocation{nodestatustest.Held("10.1.0.2", nodestatustest.Boot-1)}
	for story, c := range map[string]struct {
		other nodestatus.Network
		want  int
	}{
		"both hold something":                   {nodestatus.Network{Allocations: now}, 1},
		"one holds nothing":                     {nodestatus.Network{}, 0},
		"one has held something before":         {nodestatus.Network{Allocations: before}, 0},
		"nobody can see whether one holds some": {nodestatus.Network{Partial: true, Migration: nodestatus.Migration{Phase: engine.Legacy}}, 1},
	} {
		c.other.Name, c.other.Ranges = "renamed", ranges
		snap := nodestatus.Snapshot{Epoch: nodestatustest.Boot, Networks: []nodestatus.Network{
			{Name: "podnet", Ranges: ranges, Allocations: now}, c.other,
		}}
		got := 0
		for _, n := range attention(snap) {
			if n.Kind == nodestatus.KindOverlap {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%s: %d overlaps, want %d", story, got, c.want)
		}
	}
}
