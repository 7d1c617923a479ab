package cli

import (
	"testing"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store/record"
)

func TestWhatTheNextStepWaitsFor(t *testing.T) {
	for story, c := range map[string]struct {
		m    migration
		want string
	}{
		"no target":              {migration{phase: engine.Switch}, ""},
		"at the target":          {migration{phase: engine.Switch, target: engine.Switch}, ""},
		"an ADD has not come":    {migration{phase: engine.Expand, target: engine.Contract}, "the next ADD"},
		"back, and none has":     {migration{phase: engine.Contract, target: engine.Legacy}, "the next ADD"},
		"an ADD has told why":    {migration{phase: engine.Switch, target: engine.Contract, waits: "the forms differ"}, "the forms differ"},
		"shutting is impossible": {migration{phase: engine.Contract, waits: "no space"}, "no space"},
		"nothing is known":       {migration{target: engine.Contract}, ""},
	} {
		if got := c.m.waitsFor(); got != c.want {
			t.Errorf("%s: got %q, want %q", story, got, c.want)
		}
	}
}

func TestImportsOfThisBootAreCounted(t *testing.T) {
	of := func(origins ...record.Origin) []record.Holder {
		holders := make([]record.Holder, len(origins))
		for i, o := range origins {
			holders[i] = record.Holder{Attachment: record.Attachment{ContainerID: string(o)}, Origin: o}
		}
		return holders
	}
	n := network{migration: migration{phase: engine.Switch}, allocations: []record.Allocation{
		held("10.1.0.2", boot, of(record.OriginHostLocal)...),
		held("10.1.0.3", boot, of(record.OriginAdd, record.OriginHostLocal)...),
		held("10.1.0.4", 1, of(record.OriginHostLocal)...), // of a previous boot
		held("10.1.0.5", 0, of(record.OriginCNICache)...),
		held("10.1.0.6", boot, of(record.OriginCRI)...),
		held("10.1.0.7", boot, of(record.OriginAdd)...),
		held("10.1.0.8", boot, of(record.OriginRepair)...),
	}}
	for phase, want := range map[engine.Phase]int{engine.Switch: 4, engine.Legacy: 0} {
		n.migration.phase = phase
		if unproven, hostLocal := n.imports(testPlugin(), boot); unproven != want || hostLocal != 2 {
			t.Errorf("%s: %d unproven, %d of host-local, want %d and 2", phase, unproven, hostLocal, want)
		}
	}
}

func TestOnlyWhatBlocksAnAddressNowIsSetAside(t *testing.T) {
	list := []form.Aside{
		{Addr: held("10.1.0.2", 0).Addr, Epoch: boot},
		{Addr: held("10.1.0.3", 0).Addr, Epoch: 1},              // of a previous boot: given out again
		{Addr: held("10.1.0.4", 0).Addr, Epoch: 1, Fixed: true}, // cannot be
	}
	got := engine.Progress{Phase: engine.Switch, SetAside: list}.Blocked(boot)
	if len(got) != 2 || got[0] != list[0] || got[1] != list[2] {
		t.Errorf("got %v", got)
	}
}
