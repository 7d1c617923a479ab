package powercut

import (
	"slices"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// What a killed call has left unsynced, the next one finds and may build upon.
var unsynced = []scenario{
	{"the first ADD of a node", ipv4, nil, []call{add("a", noTarget), add("b", noTarget)}},
	{"ADD in contract", ipv4, native, []call{add("c", noTarget), add("d", noTarget)}},
	{"ADD in contract, sent again", ipv4, native, []call{add("c", noTarget), add("c", noTarget)}},
	{"DEL in contract", ipv4, native, []call{del("a", noTarget), add("c", noTarget)}},
	{"the import", ipv4, []call{theirs("h"), theirs("i")}, []call{add("a", noTarget), add("b", noTarget)}},
	{"ADD in switch", ipv4, mirrored, []call{add("c", switched), add("d", switched)}},
	{"ADD in switch, sent again", ipv4, mirrored, []call{add("c", switched), add("c", switched)}},
	{"DEL in switch", ipv4, mirrored, []call{del("a", switched), del("a", switched)}},
	{"ADD in legacy, sent again", ipv4, []call{add("a", legacy)}, []call{add("b", legacy), add("b", legacy)}},
	{"the step to contract", ipv4, byHand, []call{by(stepForward), add("c", noTarget)}},
	{"the step to switch", ipv4, native, []call{by(stepBack), add("c", noTarget)}},
	{"the first ADD of a boot in switch", ipv4, before(add("a", switched), add("b", switched)), []call{add("c", switched), add("d", switched)}},
	{"the first ADD of a boot in contract", ipv4, before(add("a", noTarget)), []call{add("c", noTarget), add("d", noTarget)}},
	{"a tombstone that is put back", ipv4, then(native, by(wipeNetworks)), []call{add("c", noTarget), add("d", noTarget)}},
	{"a directory that is written again", ipv4, then(mirrored, by(wipeNetworks)), []call{add("c", switched), add("d", switched)}},
	{"healing", ipv4, native, []call{by(damageFile), add("c", noTarget), add("d", noTarget)}},
}

// forgetful are those in which a call may be killed before the sync of a name that
// the next one finds and cannot know to be unsynced. A power cut may take it back
// even after an answer: what that costs is of a boot that is over.
var forgetful = []string{
	"the first ADD of a node",
	"ADD in legacy, sent again",
	"a tombstone that is put back",
	"a directory that is written again",
}

// ofSyncs: of so many syncs a call is killed before one, where not all are wanted.
const ofSyncs = 12

func TestAPowerCutAfterACallThatWasKilledBeforeASync(t *testing.T) {
	seed := testenv.Seed(t)
	var sum counts
	t.Run("scenarios", func(t *testing.T) { // waits for the parallel ones
		for i, s := range unsynced {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				random := testenv.Rand(seed, uint64(i))
				first := len(s.calls) - 2 // the last call but one is killed
				for nth := range s.syncs(t, first) {
					if !all() && random.IntN(ofSyncs) != 0 {
						continue
					}
					again := s
					again.calls = then(nil, s.calls...)
					again.calls[first] = killed(s.calls[first], kill{nth: nth + 1})
					r := again.record(t, again.begin(t))
					r.random, r.forgets = random, slices.Contains(forgetful, s.name)
					r.cutEverywhere(t)
					sum.add(&r.counts)
					if t.Failed() {
						t.Fatalf("%s was killed before its sync %d", s.calls[first], nth+1)
					}
				}
			})
		}
	})
	t.Logf("in all: %s", &sum)
}

// syncs counts those of a call.
func (s scenario) syncs(t *testing.T, call int) int {
	t.Helper()
	n := s.begin(t)
	for _, c := range s.calls[:call] {
		c.record(t, n)
	}
	count := 0
	for _, k := range s.calls[call].record(t, n).Calls {
		if isSync(k.Name) {
			count++
		}
	}
	if count == 0 {
		t.Fatalf("%s syncs nothing", s.calls[call])
	}
	return count
}
