package cli

import (
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/cri"
	"github.com/bolt-local/bolt-local/internal/cmdline"
	"github.com/bolt-local/bolt-local/ipam"
)

func TestAListingThatMayLackPodsIsInDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		listing cri.Listing
		want    string // a part, "" for no doubt
	}{
		"it has what runs":            {cri.Listing{Listed: 1}, ""},
		"it has nothing":              {cri.Listing{}, "the container runtime at unix:///a.sock lists no sandbox at all"},
		"a sandbox was started":       {cri.Listing{Listed: 2, Started: []string{"new"}}, "1 sandbox was started meanwhile, such as new"},
		"several sandboxes were, too": {cri.Listing{Listed: 3, Started: []string{"a", "b"}}, "2 sandboxes were started meanwhile, such as a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := doubt(c.listing, "unix:///a.sock"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("in doubt: %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhatAPersonMayDoNamesAnotherDataDirectory(t *testing.T) {
	for dir, want := range map[string]string{
		ipam.DefaultDataDir: "once `bolt-local dump` has every pod of the node, `bolt-local repair --accept --host-local-dir /n` lets",
		"/d":                "once `bolt-local dump --data-dir /d` has every pod of the node, `bolt-local repair --accept --host-local-dir /n --data-dir /d` lets",
	} {
		if got := staysRefused(dir, cmdline.Sources{HostLocalDirs: []string{"/n"}}, "why"); !strings.Contains(got, "not recorded: why; "+want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Each round is what was lost, "" where no loss could be accepted.
func TestALossIsAcceptedInTheSecondRoundInARowThatCould(t *testing.T) {
	for name, c := range map[string]struct {
		rounds [][]string // by round, by backfill; "!" for damage that it has found
		want   bool       // of the last one
	}{
		"the first":                            {[][]string{{"a"}}, false},
		"the second":                           {[][]string{{"a"}, {"a"}}, true},
		"the first, twice in it":               {[][]string{{"a", "a"}}, false},
		"a round between that could not":       {[][]string{{"a"}, {}, {"a"}}, false},
		"another loss since":                   {[][]string{{"a"}, {"b"}}, false},
		"damage once more, with the same loss": {[][]string{{"a!"}, {"a!"}}, false},
		"the second after the damage":          {[][]string{{"a!"}, {"a"}}, true},
		"nothing was lost":                     {[][]string{{""}}, true},
		"nothing is lost any more, and a loss": {[][]string{{"a"}, {""}, {"a"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var p patience
			accepted := false
			for _, round := range c.rounds {
				for _, loss := range round {
					why, found := strings.CutSuffix(loss, "!")
					accepted = p.doubt(why, found) == ""
				}
				p.roundEnded()
			}
			if accepted != c.want {
				t.Errorf("accepted: %v", accepted)
			}
		})
	}
}
