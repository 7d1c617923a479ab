package faults

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// Environment variables. Without them the seed chooses a few faults.
const (
	allFaults  = "E2E_ALL_FAULTS" // if it is set, every fault is tried
	manyFaults = "E2E_FAULTS"     // how many of each call are tried
)

// few is how many faults of each call are tried in a usual run, beside those that
// once did harm.
const few = 3

// harmful are faults that once did harm, by call: whichever of its looks failed.
var harmful = map[string]*regexp.Regexp{
	"ADD in switch, which heals from the directory": regexp.MustCompile(`^(openat networks/pods|newfstatat bolt-local/journal) \d+, (EIO|EACCES)$`),
	"the first DEL, which imports":                  regexp.MustCompile(`^newfstatat bolt-local/checkpoint\.db \d+, (EIO|EACCES)$`),
}

func TestAnySystemCallMayFail(t *testing.T) {
	seed := testenv.Seed(t)
	var c counts
	t.Cleanup(func() { t.Log(&c) }) // after the parallel ones
	for i, f := range faulties {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			f.tryMany(t, seed, uint64(i), &c)
		})
	}
}

// The first call of a boot also ends what earlier boots have left.
func TestAnySystemCallOfTheFirstCallOfABootMayFail(t *testing.T) {
	if !testenv.InOwnMounts(t, lab.HostLocal, lab.BoltLocal) {
		return
	}
	seed := testenv.Seed(t)
	boot := testenv.FakeBoot(t)
	var c counts
	t.Cleanup(func() { t.Log(&c) })
	for i, f := range inANewBoot {
		prepare := f.prepare
		f.prepare = func(t *testing.T, n network) held {
			boot.Show(t, 1)
			prepare(t, n)
			boot.Show(t, 2)
			return held{}
		}
		t.Run(f.name, func(t *testing.T) { f.tryMany(t, seed, uint64(len(faulties)+i), &c) })
	}
}

// tryMany tries all faults of the call, or as many as are asked for: the seed
// chooses which.
func (f faulty) tryMany(t *testing.T, seed, stream uint64, c *counts) {
	t.Helper()
	var all []fault
	for _, p := range f.record(t) {
		if errnosOf(&p.like) == nil {
			t.Errorf("nobody has said with what %s may fail", p.call)
		}
		all = append(all, p.faults()...)
	}
	random := testenv.Rand(seed, stream)
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	type trial struct {
		fault
		then way
	}
	var trials []trial // the same whichever part of them is asked for
	wanted := howMany(t, len(all))
	for i, x := range all {
		if i < wanted {
			trials = append(trials, trial{x, way(random.IntN(int(ways)))})
		}
		if did := harmful[f.name]; did != nil && did.MatchString(x.String()) {
			for then := range ways {
				trials = append(trials, trial{x, then})
			}
		}
	}
	tried, happened := 0, 0
	for _, x := range testenv.Part(t, trials) {
		t.Run(x.String()+", then "+x.then.String(), func(t *testing.T) {
			tried++
			if f.try(t, x.fault, x.then) {
				happened++
			}
		})
	}
	if happened == 0 {
		t.Error("no fault has happened: this run shows nothing")
	}
	c.add(len(all), tried, happened)
}

// howMany faults of a call are tried.
func howMany(t *testing.T, all int) int {
	t.Helper()
	if os.Getenv(allFaults) != "" {
		return all
	}
	s := os.Getenv(manyFaults)
	if s == "" {
		return few
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s=%s is not a number: %v", manyFaults, s, err)
	}
	return n
}

// counts are those of a whole run.
type counts struct {
	sync.Mutex
	calls, all, tried, happened int
}

func (c *counts) add(all, tried, happened int) {
	c.Lock()
	defer c.Unlock()
	c.calls++
	c.all += all
	c.tried += tried
	c.happened += happened
}

func (c *counts) String() string {
	return fmt.Sprintf("%d calls, in which %d faults are possible; %d were tried, %d happened", c.calls, c.all, c.tried, c.happened)
}
