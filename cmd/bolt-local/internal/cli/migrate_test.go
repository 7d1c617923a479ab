package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

func testApp() *app { return &app{plugin: nodestatustest.Plugin()} }

func TestMigrateStatusInAPipe(t *testing.T) {
	st := testApp().newMigrateStatus(nodestatustest.Snapshot())
	wantText(t, printed(t, 0, func(s screen) error { return printMigrateTable(s, st) }), `
NETWORK  PHASE     TARGET    WAITS-FOR                            HELD  HOST-LOCAL'S  DIRECTORY
podnet   switch    contract  1 allocation was made by host-local     5             1  /var/lib/cni/networks/podnet
storage  contract  -         -                                       3             0  /var/lib/cni/networks/storage (shut)
young    -         -         -                                       0             0  -
`[1:])
}

func TestMigrateStatusOnATerminalTellsReasonsBelow(t *testing.T) {
	st := testApp().newMigrateStatus(nodestatustest.Snapshot())
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
		m       nodestatus.Migration
		want    string
		differs bool
	}{
		"equal":               {nodestatus.Migration{Phase: engine.Switch, Directory: "/n/podnet"}, "equal, 5 allocations", false},
		"equal, but touched":  {nodestatus.Migration{Phase: engine.Expand, Changed: true}, "equal, 5 allocations; the directory was changed since bolt-local's last call", false},
		"legacy":              {nodestatus.Migration{Phase: engine.Legacy}, "nothing to compare: phase legacy, host-local's directory alone is in use", false},
		"contract":            {nodestatus.Migration{Phase: engine.Contract, Shut: true}, "nothing to compare: phase contract, host-local is shut out", false},
		"no phase yet":        {nodestatus.Migration{}, "nothing to compare: it has no phase yet, the next ADD gives it one", false},
		"no tombstone":        {nodestatus.Migration{Phase: engine.Contract, Gap: "nothing is at /n/podnet; the next ADD or DEL writes it again"}, "no tombstone: nothing is at /n/podnet; the next ADD or DEL writes it again", true},
		"host-local has run":  {nodestatus.Migration{Phase: engine.Switch, Directory: "/n/podnet", Changed: true, Differences: diff}, "1 difference between the directory /n/podnet (the old form) and the checkpoint (the new form)\n  " + diff[0] + "\n  the directory was changed since bolt-local's last call: the next ADD or DEL takes it over, and mends this", true},
		"nobody has run":      {nodestatus.Migration{Phase: engine.Switch, Directory: "/n/podnet", Differences: diff}, "1 difference between the directory /n/podnet (the old form) and the checkpoint (the new form)\n  " + diff[0] + "\n  the directory is as bolt-local left it, so no call mends this", true},
		"a terminal's escape": {nodestatus.Migration{Phase: engine.Switch, Directory: "/n/\x1b[2J", Differences: diff}, "1 difference between the directory /n/?[2J (the old form) and the checkpoint (the new form)\n  " + diff[0] + "\n  the directory is as bolt-local left it, so no call mends this", true},
	} {
		t.Run(story, func(t *testing.T) {
			snap := nodestatustest.Snapshot()
			n := snap.Networks[0]
			n.Migration = c.m
			got, differs := testApp().verdict(snap, n)
			wantText(t, got, c.want)
			if differs != c.differs {
				t.Errorf("differs = %t, want %t", differs, c.differs)
			}
		})
	}
}

func TestAPhaseOfANewerVersionIsShownAndTold(t *testing.T) {
	dir, _ := storeWith(t)
	err := store.New(dir, store.Options{}).Update(store.Op{Verb: "ADD"}, func(tx *store.Tx) error {
		return tx.Network("podnet").SetMigration([]byte(`{"phase":"frozen","oldPath":"/n/podnet"}`))
	})
	if err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := run("dump", "--data-dir", dir, "--output", "json")
	if !strings.Contains(stdout, `"name":"podnet","phase":"frozen","allocations":[{"ip":"10.1.0.2"`) {
		t.Errorf("got %s", stdout)
	}
	if status != command.Failed || !strings.Contains(stderr, `network podnet: the migration is in a state that this version does not know: "frozen"`) {
		t.Errorf("exit status %d, stderr: %s", status, stderr)
	}
	status, stdout, _ = run("migrate", "verify", "--data-dir", dir)
	if status != command.Failed || stdout != "" {
		t.Errorf("verify: exit status %d, stdout: %s", status, stdout)
	}
}
