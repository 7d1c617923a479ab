package damage

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/pages"
)

const (
	// everythingVariable is an environment variable. If it is set, all trials are
	// made in this process, and more by others.
	everythingVariable = "E2E_ALL_DAMAGE"
	// trialVariable is an environment variable: the only trial, as JSON.
	trialVariable = "E2E_DAMAGE_TRIAL"

	// scanned is up to how many pages in use every call looks at all of them.
	scanned = 128
)

// In this process, so that thousands of trials take minutes.
func TestADamagedNodeGoesOn(t *testing.T) {
	try(t, small, trial{}, 80, 1<<30)
}

// A sample of the same, each call a process with a bound for its memory and its
// time.
func TestADamagedNodeGoesOnByProcesses(t *testing.T) {
	try(t, small, trial{Processes: true}, 6, 300)
}

// A call on a big file looks at the pages that it needs alone.
func TestADamagedBigNodeGoesOn(t *testing.T) {
	try(t, big, trial{Processes: true, Big: true}, 8, 600)
}

// try makes a few trials like one, or as many as are wanted of everything.
func try(t *testing.T, s size, like trial, few, many int) {
	t.Helper()
	seed := testenv.Seed(t)
	a, err := measure(t.TempDir(), s)
	if err != nil {
		t.Fatal(err)
	}
	if isBig := a.pages > scanned; isBig != like.Big {
		t.Fatalf("%d pages are in use; up to %d are looked at by each call", a.pages, scanned)
	}
	r := testenv.Rand(seed, 0)
	trials := a.all(like, r)
	t.Logf("%d trials in all, on %d pages and %d lines", len(trials), a.pages, a.lines)
	if os.Getenv(everythingVariable) != "" {
		few = many
	}
	trials = testenv.Part(t, sample(trials, few, r))
	if one := os.Getenv(trialVariable); one != "" {
		trials = make([]trial, 1)
		if err := json.Unmarshal([]byte(one), &trials[0]); err != nil {
			t.Fatal(err)
		}
		if c := trials[0]; c.Big != like.Big || c.Processes != like.Processes {
			t.Skip("the trial is another test's")
		}
	}
	all := newTable()
	carryOut(t, trials, 2, func(c trial, o outcome) {
		all.count(c, o)
		if len(o.Faults) > 0 {
			t.Errorf("%s='%s': %s\n    %s", trialVariable, c, o.Class, strings.Join(o.Faults, "\n    "))
		}
	})
	t.Logf("\n%s", all)
}

// measure tells how many pages and lines there are to be damaged.
func measure(root string, s size) (amount, error) {
	m, err := build(root, thisBoot, s, false)
	if err != nil {
		return amount{}, err
	}
	b := m.files[store.CheckpointFile]
	meta, err := pages.ReadMeta(bytes.NewReader(b), int64(len(b)))
	a := everything
	a.pages, a.lines = int(meta.HighWater), len(lines(m.files[store.JournalFile]))
	return a, err
}
