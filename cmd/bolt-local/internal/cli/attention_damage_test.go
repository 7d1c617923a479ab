package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/store"
)

func TestDamageAndItsCureAreTold(t *testing.T) {
	const repair = "bolt-local repair --dry-run --data-dir /d"
	for story, c := range map[string]struct {
		snap    snapshot
		says    string // at the end of the text
		command string
	}{
		"damage":                    {snapshot{problem: errDamaged}, "it is empty. The next ADD or DEL that meets it heals it if the journal is whole.", repair},
		"a checkpoint that is gone": {snapshot{problem: fmt.Errorf("%w: run `bolt-local repair`", store.ErrLost)}, "run `bolt-local repair`", repair},
		"a newer schema":            {snapshot{problem: fmt.Errorf("%w: install v9", store.ErrFormat)}, "install v9", ""},
		"a link or a device":        {snapshot{problem: errDamaged, irregular: true}, "it is empty", ""},
		"both":                      {snapshot{problem: errors.Join(errDamaged, errors.New("and a record"))}, "it is empty; and a record. The next ADD or DEL that meets it heals it if the journal is whole.", repair},
	} {
		t.Run(story, func(t *testing.T) {
			f := finder{dataDir: "/d"}
			f.problem(c.snap)
			if len(f.notices) != 1 {
				t.Fatalf("%d notices, want 1", len(f.notices))
			}
			n := f.notices[0]
			if n.Kind != kindProblem || !strings.HasSuffix(n.Text, c.says) || n.Command != c.command {
				t.Errorf("got %+v, want text %q, command %q", n, c.says, c.command)
			}
			c.snap.path = "/d/checkpoint.db"
			if got := strings.Contains(c.snap.err().Error(), "see `"+repair+"`"); got != (c.command != "" && errors.Is(c.snap.problem, store.ErrDamaged)) {
				t.Errorf("the error is %v", c.snap.err())
			}
		})
	}
}

func TestFormerDamageIsToldUntilItIsAcknowledged(t *testing.T) {
	damage := func(from store.Source, network, kept string) store.Damage {
		return store.Damage{Time: now, Problem: "it was\ncut off", From: from, Network: network, Kept: kept}
	}
	for want, d := range map[string]store.Damage{
		"everything was taken over from the journal; the damaged file is kept as /d/k.":                                          damage(store.SourceJournal, "", "k"),
		"everything was taken over from the journal.":                                                                            damage(store.SourceJournal, "", ""),
		"network podnet was taken over from host-local's directory, and all others were lost; the damaged file is kept as /d/k.": damage(store.SourceOldForm, "podnet", "k"),
		"it was begun anew, as nothing of an earlier boot is alive; the damaged file is kept as /d/k.":                           damage(store.SourceNewBoot, "", "k"),
		"it was repaired by hand; the damaged file is kept as /d/k.":                                                             damage(store.SourceRepair, "", "k"),
		"a backup was restored by hand; the file before is kept as /d/k.":                                                        damage(store.SourceBackup, "", "k"),
		"the damaged file is kept as /d/j.":                                                                                      damage("of a later version", "", "j"),
	} {
		t.Run(want, func(t *testing.T) {
			f := finder{dataDir: "/d"}
			f.damage(snapshot{damages: []store.Damage{d}})
			if len(f.notices) != 1 {
				t.Fatalf("%d notices, want 1", len(f.notices))
			}
			n := f.notices[0]
			if n.Kind != kindHealed || n.Text != "2026-11-29 12:00:00 UTC: it was; cut off; "+want || n.Command != "bolt-local repair --acknowledge --data-dir /d" {
				t.Errorf("got %+v, want %q", n, want)
			}
		})
	}
}

func TestARestoreIsNoDamage(t *testing.T) {
	d := formerDamage{Time: now, From: store.SourceBackup, Kept: "/d/k"}
	wantText(t, d.String(), "2026-11-29 12:00:00 UTC: a backup was restored by hand; the file before is kept as /d/k")
}

func TestWhatWasLostAndWhatWaitsIsTold(t *testing.T) {
	f := finder{dataDir: "/d"}
	f.lost("podnet", "a page is gone")
	f.damage(snapshot{lost: "a page is gone", deferred: 1})
	f.damage(snapshot{deferred: 3})
	f.lost("young", "")
	got := ""
	for _, n := range f.notices {
		text, _, _ := strings.Cut(n.Text, ".")
		got += fmt.Sprintf("%s %q: %s [%s]\n", n.Kind, n.Network, text, n.Command)
	}
	wantText(t, got, `
lost "podnet": ADD is refused until the next boot: a page is gone [bolt-local repair --data-dir /d]
lost "": In every network that is not stored, ADD is refused until the next boot: a page is gone [bolt-local repair --data-dir /d]
deferred-del "": 1 DEL waits in /d/deferred: once the checkpoint can be written and nothing is missing in its network, the next ADD, DEL or GC there carries it out and frees its addresses []
deferred-del "": 3 DELs wait in /d/deferred: once the checkpoint can be written and nothing is missing in their networks, the next ADD, DEL or GC there carries them out and frees their addresses []
`[1:])
}
