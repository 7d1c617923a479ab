package nodestatus_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus/nodestatustest"
	"github.com/bolt-local/bolt-local/store"
)

var errDamaged = fmt.Errorf("%w: it is empty", store.ErrDamaged)

func TestDamageAndItsCureAreTold(t *testing.T) {
	const repair = "bolt-local repair --dry-run --data-dir /d"
	for story, c := range map[string]struct {
		snap    nodestatus.Snapshot
		says    string // at the end of the text
		command string
	}{
		"damage":                    {nodestatus.Snapshot{Problem: errDamaged}, "it is empty. The next ADD or DEL that meets it heals it if the journal is whole, all is of an earlier boot, or host-local's directory has everything.", repair},
		"a checkpoint that is gone": {nodestatus.Snapshot{Problem: fmt.Errorf("%w: run `bolt-local repair`", store.ErrLost)}, "run `bolt-local repair`", repair},
		"a newer schema":            {nodestatus.Snapshot{Problem: fmt.Errorf("%w: install v9", store.ErrFormat)}, "install v9", ""},
		"a link or a device":        {nodestatus.Snapshot{Problem: errDamaged, Irregular: true}, "it is empty", ""},
		"both":                      {nodestatus.Snapshot{Problem: errors.Join(errDamaged, errors.New("and a record"))}, "it is empty; and a record. The next ADD or DEL that meets it heals it if the journal is whole, all is of an earlier boot, or host-local's directory has everything.", repair},
	} {
		t.Run(story, func(t *testing.T) {
			c.snap.Path = "/d/checkpoint.db"
			found := attention(c.snap)
			if len(found) != 1 {
				t.Fatalf("%d notices, want 1", len(found))
			}
			n := found[0]
			if n.Kind != nodestatus.KindProblem || !strings.HasSuffix(n.Text, c.says) || n.Command != c.command {
				t.Errorf("got %+v, want text %q, command %q", n, c.says, c.command)
			}
			if got := strings.Contains(c.snap.Err().Error(), "see `"+repair+"`"); got != (c.command != "" && errors.Is(c.snap.Problem, store.ErrDamaged)) {
				t.Errorf("the error is %v", c.snap.Err())
			}
		})
	}
}

func TestFormerDamageIsToldUntilItIsAcknowledged(t *testing.T) {
	damage := func(from store.Source, network, kept string) store.Damage {
		return store.Damage{Time: nodestatustest.Now(), Problem: "it was\ncut off", From: from, Network: network, Kept: kept}
	}
	for want, d := range map[string]store.Damage{
		"everything was taken over from the journal; the damaged file is kept as /d/k.":                                          damage(store.SourceJournal, "", "k"),
		"everything was taken over from the journal.":                                                                            damage(store.SourceJournal, "", ""),
		"network podnet was taken over from host-local's directory, and all others were lost; the damaged file is kept as /d/k.": damage(store.SourceOldForm, "podnet", "k"),
		"it was begun anew, as nothing of an earlier boot is alive; the damaged file is kept as /d/k.":                           damage(store.SourceNewBoot, "", "k"),
		"it was repaired; the damaged file is kept as /d/k.":                                                                     damage(store.SourceRepair, "", "k"),
		"a backup was restored by hand; the file before is kept as /d/k.":                                                        damage(store.SourceBackup, "", "k"),
		"the damaged file is kept as /d/j.":                                                                                      damage("of a later version", "", "j"),
	} {
		t.Run(want, func(t *testing.T) {
			found := attention(nodestatus.Snapshot{Path: "/d/checkpoint.db", Damages: []store.Damage{d}})
			if len(found) != 1 {
				t.Fatalf("%d notices, want 1", len(found))
			}
			n := found[0]
			if n.Kind != nodestatus.KindHealed || n.Text != "2026-11-29 12:00:00 UTC: it was; cut off; "+want || n.Command != "bolt-local repair --acknowledge --data-dir /d" {
				t.Errorf("got %+v, want %q", n, want)
			}
		})
	}
}

func TestARestoreIsNoDamage(t *testing.T) {
	d := nodestatus.FormerDamage{Time: nodestatustest.Now(), From: store.SourceBackup, Kept: "/d/k"}
	if got, want := d.String(), "2026-11-29 12:00:00 UTC: a backup was restored by hand; the file before is kept as /d/k"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWhatWasLostAndWhatWaitsIsTold(t *testing.T) {
	got := ""
	for _, snap := range []nodestatus.Snapshot{
		{Networks: []nodestatus.Network{{Name: "podnet", Lost: "a page is gone"}, {Name: "young"}}},
		{Lost: "a page is gone", Deferred: 1},
		{Lost: "all was searched", Damages: []store.Damage{{From: store.SourceRepair, Searched: true}}},
		{Lost: "more may be found", Damages: []store.Damage{{From: store.SourceRepair, Searched: true}, {From: store.SourceOldForm}}},
		{Deferred: 3},
	} {
		snap.Path = "/d/checkpoint.db"
		for _, n := range attention(snap) {
			if n.Kind == nodestatus.KindHealed {
				continue
			}
			text, _, _ := strings.Cut(n.Text, ".")
			got += fmt.Sprintf("%s %q: %s [%s]\n", n.Kind, n.Network, text, n.Command)
		}
	}
	if diff := cmp.Diff(`
lost "podnet": ADD is refused until the next boot: a page is gone [bolt-local repair --data-dir /d]
lost "": In every network that is not stored, ADD is refused until the next boot: a page is gone [bolt-local repair --data-dir /d]
deferred-del "": 1 DEL waits in /d/deferred: once the checkpoint can be written and nothing is missing in its network, the next ADD, DEL or GC there carries it out and frees its addresses []
lost "": In every network that is not stored, ADD is refused until the next boot: all was searched [bolt-local dump --data-dir /d]
lost "": In every network that is not stored, ADD is refused until the next boot: more may be found [bolt-local repair --data-dir /d]
deferred-del "": 3 DELs wait in /d/deferred: once the checkpoint can be written and nothing is missing in their networks, the next ADD, DEL or GC there carries them out and frees their addresses []
`[1:], got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatLetsADDGoOnNamesTheDataDirectory(t *testing.T) {
	found := attention(nodestatus.Snapshot{Path: "/d/checkpoint.db", Lost: "a page is gone"})
	want := "If `bolt-local dump --data-dir /d` has every pod of the node, `bolt-local repair --accept --data-dir /d` lets"
	if len(found) != 1 || !strings.Contains(found[0].Text, want) {
		t.Errorf("%+v, want %s", found, want)
	}
}
