package nodestatus_test

import (
	"errors"
	"testing"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store/record"
)

func TestStatusNamesTheProblemFirst(t *testing.T) {
	snap := nodestatustest.Snapshot()
	snap.Problem = errors.Join(errors.New("the checkpoint is damaged"), errors.New("and so is a record"))
	st := nodestatus.New(snap, nodestatustest.Plugin())
	first := st.Attention[0]
	if first.Kind != nodestatus.KindProblem || first.Text != "the checkpoint is damaged; and so is a record" {
		t.Errorf("first notice = %+v", first)
	}
	if st.Checkpoint.Problem == "" || len(st.Networks) != 3 {
		t.Errorf("problem = %q, %d networks; want both shown", st.Checkpoint.Problem, len(st.Networks))
	}
}

func TestWhatTheNextStepWaitsFor(t *testing.T) {
	for story, c := range map[string]struct {
		m    nodestatus.Migration
		want string
	}{
		"no target":              {nodestatus.Migration{Phase: engine.Switch}, ""},
		"at the target":          {nodestatus.Migration{Phase: engine.Switch, Target: engine.Switch}, ""},
		"an ADD has not come":    {nodestatus.Migration{Phase: engine.Expand, Target: engine.Contract}, "the next ADD"},
		"back, and none has":     {nodestatus.Migration{Phase: engine.Contract, Target: engine.Legacy}, "the next ADD"},
		"an ADD has told why":    {nodestatus.Migration{Phase: engine.Switch, Target: engine.Contract, Waits: "the forms differ"}, "the forms differ"},
		"shutting is impossible": {nodestatus.Migration{Phase: engine.Contract, Waits: "no space"}, "no space"},
		"nothing is known":       {nodestatus.Migration{Target: engine.Contract}, ""},
	} {
		n := nodestatus.Network{Migration: c.m}
		if got := nodestatus.NewMigrationStatus(n, nodestatustest.Plugin(), nodestatustest.Boot).WaitsFor; got != c.want {
			t.Errorf("%s: got %q, want %q", story, got, c.want)
		}
	}
}

func TestImportsOfThisBootAreCounted(t *testing.T) {
	const boot = nodestatustest.Boot
	held := func(addr string, epoch uint64, origins ...record.Origin) record.Allocation {
		holders := make([]record.Holder, len(origins))
		for i, o := range origins {
			holders[i] = record.Holder{Attachment: record.Attachment{ContainerID: string(o)}, Origin: o}
		}
		return nodestatustest.Held(addr, epoch, holders...)
	}
	n := nodestatus.Network{Allocations: []record.Allocation{
		held("10.1.0.2", boot, record.OriginHostLocal),
		held("10.1.0.3", boot, record.OriginAdd, record.OriginHostLocal),
		held("10.1.0.4", 1, record.OriginHostLocal), // of a previous boot
		held("10.1.0.5", 0, record.OriginCNICache),
		held("10.1.0.6", boot, record.OriginCRI),
		held("10.1.0.7", boot, record.OriginAdd),
		held("10.1.0.8", boot, "repair"),
	}}
	for phase, want := range map[engine.Phase]int{engine.Switch: 4, engine.Legacy: 0} {
		n.Migration.Phase = phase
		if got := nodestatus.NewMigrationStatus(n, nodestatustest.Plugin(), boot); got.Unproven != want || got.HostLocal != 2 {
			t.Errorf("%s: %d unproven, %d of host-local, want %d and 2", phase, got.Unproven, got.HostLocal, want)
		}
	}
}
