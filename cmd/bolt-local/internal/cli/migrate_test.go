package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bolt-local/bolt-local/migrate/engine"
)

func testApp() *app { return &app{plugin: testPlugin()} }

func TestMigrateStatusInAPipe(t *testing.T) {
	st := testApp().newMigrateStatus(testSnapshot())
	wantText(t, printed(t, 0, func(s screen) error { return printMigrateTable(s, st) }), `
NETWORK  PHASE     TARGET    WAITS-FOR                            HELD  HOST-LOCAL'S  DIRECTORY
podnet   switch    contract  1 allocation was made by host-local     5             1  /var/lib/cni/networks/podnet
storage  contract  -         -                                       3             0  /var/lib/cni/networks/storage (shut)
young    -         -         -                                       0             0  -
`[1:])
}

func TestMigrateStatusOnATerminalTellsReasonsBelow(t *testing.T) {
	st := testApp().newMigrateStatus(testSnapshot())
	got := printed(t, 80, func(s screen) error { return printMigrateTable(s, st) })
	wantText(t, got, `
NETWORK  PHASE     TARGET    WAITS-FOR       HELD  HOST-LOCAL'S  DIRECTORY
podnet   switch    contract  1 allocation …     5             1  /var/li…/podnet
storage  contract  -         -                  3             0  /var/li… (shut)
young    -         -         -                  0             0  -

network podnet waits: 1 allocation was made by host-local
`[1:])
	for _, line := range strings.Split(got, "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestVerdict(t *testing.T) {
	diff := []string{"10.1.0.2 is held by container a in the old form alone"}
	for story, c := range map[string]struct {
		m       migration
		want    string
		differs bool
	}{
		"equal":               {migration{phase: engine.Switch, directory: "/n/podnet"}, "equal, 5 allocations", false},
		"equal, but touched":  {migration{phase: engine.Expand, changed: true}, "equal, 5 allocations; the directory was changed since bolt-local's last call", false},
		"legacy":              {migration{phase: engine.Legacy}, "nothing to compare: phase legacy, host-local's directory alone is in use", false},
		"contract":            {migration{phase: engine.Contract, shut: true}, "nothing to compare: phase contract, host-local is shut out", false},
		"no phase yet":        {migration{}, "nothing to compare: it has no phase yet, the next ADD gives it one", false},
		"no tombstone":        {migration{phase: engine.Contract, gap: &gap{"nothing is at /n/podnet", gapMends}}, "no tombstone: nothing is at /n/podnet; the next ADD or DEL writes it again", true},
		"host-local has run":  {migration{phase: engine.Switch, directory: "/n/podnet", changed: true, differences: diff}, "1 difference between the directory /n/podnet (the old form) and the checkpoint (the new form)\n  " + diff[0] + "\n  the directory was changed since bolt-local's last call: the next ADD or DEL takes it over, and mends this", true},
		"nobody has run":      {migration{phase: engine.Switch, directory: "/n/podnet", differences: diff}, "1 difference between the directory /n/podnet (the old form) and the checkpoint (the new form)\n  " + diff[0] + "\n  the directory is as bolt-local left it, so no call mends this", true},
		"a terminal's escape": {migration{phase: engine.Switch, directory: "/n/\x1b[2J", differences: diff}, "1 difference between the directory /n/?[2J (the old form) and the checkpoint (the new form)\n  " + diff[0] + "\n  the directory is as bolt-local left it, so no call mends this", true},
	} {
		t.Run(story, func(t *testing.T) {
			snap := testSnapshot()
			n := snap.networks[0]
			n.migration = c.m
			got, differs := testApp().verdict(snap, n)
			wantText(t, got, c.want)
			if differs != c.differs {
				t.Errorf("differs = %t, want %t", differs, c.differs)
			}
		})
	}
}
