package cli

import (
	"strings"
	"testing"
	"time"

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

// Each round is what was lost, "" where nothing was, and lasts a minute.
func TestALossIsAcceptedOnceEachRoundForATimeCould(t *testing.T) {
	for name, c := range map[string]struct {
		least  time.Duration
		rounds [][]string // by round, by backfill
		want   bool       // of the last one
	}{
		"the first":                             {0, [][]string{{"a"}}, false},
		"the second":                            {0, [][]string{{"a"}, {"a"}}, true},
		"the second, before the time is over":   {2 * time.Minute, [][]string{{"a"}, {"a"}}, false},
		"the third, after it":                   {2 * time.Minute, [][]string{{"a"}, {"a"}, {"a"}}, true},
		"the first, twice in it":                {0, [][]string{{"a", "a"}}, false},
		"a round between that could not":        {0, [][]string{{"a"}, {}, {"a"}}, false},
		"the time begins anew then":             {2 * time.Minute, [][]string{{"a"}, {"a"}, {}, {"a"}, {"a"}}, false},
		"another loss since":                    {0, [][]string{{"a"}, {"b"}}, false},
		"another loss since, and twice in it":   {0, [][]string{{"a"}, {"b", "b"}}, false},
		"another loss since, and a round later": {0, [][]string{{"a"}, {"b"}, {"b"}}, true},
		"the time begins anew with another":     {2 * time.Minute, [][]string{{"a"}, {"b"}, {"b"}}, false},
		"nothing was lost":                      {2 * time.Minute, [][]string{{""}}, true},
		"nothing is lost any more, and a loss":  {0, [][]string{{"a"}, {""}, {"a"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := time.Hour
			p := patience{least: c.least, bootTime: func() time.Duration { return clock }}
			accepted := false
			for _, round := range c.rounds {
				for _, loss := range round {
					accepted = p.doubt(loss) == ""
				}
				p.roundEnded()
				clock += time.Minute
			}
			if accepted != c.want {
				t.Errorf("accepted: %v", accepted)
			}
		})
	}
}

func TestWhatOneRuntimeHasSaidDoesNotCountForAnother(t *testing.T) {
	p := patience{bootTime: func() time.Duration { return 0 }}
	p.doubt("a")
	p.roundEnded()
	p.forget()
	if p.doubt("a") == "" {
		t.Error("the loss is accepted in the first round of a runtime")
	}
}
