package differential

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

const (
	episodes        = 63
	stepsPerEpisode = 32
	compareEach     = 8 // steps between two comparisons of the whole state
)

// episodeVariable is an environment variable: the only episode to run.
const episodeVariable = "E2E_EPISODE"

func TestRandomStepsAgree(t *testing.T) {
	seed := testenv.Seed(t)
	var first, end uint64 = 0, episodes
	if only := os.Getenv(episodeVariable); only != "" {
		n, err := strconv.ParseUint(only, 10, 64)
		if err != nil {
			t.Fatalf("%s=%s is not a number: %v", episodeVariable, only, err)
		}
		first, end = n, n+1
	}
	c := counts{difference: map[string]int{}, verb: map[string]int{}}
	for number := first; number < end && !t.Failed(); number++ {
		t.Run(fmt.Sprint("episode ", number), func(t *testing.T) {
			c.run(newEpisode(t, seed, number), seed, number)
		})
	}
	c.report(t)
}

// counts tell what a run has shown.
type counts struct {
	steps      int
	difference map[string]int
	verb       map[string]int
}

func (c *counts) run(e *episode, seed, number uint64) {
	e.t.Helper()
	for i := 1; i <= stepsPerEpisode; i++ {
		s, difference, err := e.next()
		if err == nil && (i%compareEach == 0 || i == stepsPerEpisode) {
			err = sameState(e.t, e.hostLocal, e.boltLocal)
		}
		if err != nil {
			e.t.Fatalf("step %d, %s of %s/%s: %v\nagain: %s=%d %s=%d go test ./differential -run TestRandomStepsAgree\nthe step:\n%s\n%s",
				i, s.verb, s.id, s.ifname, err, testenv.SeedVariable, seed, episodeVariable, number,
				e.hostLocal.shell(e.config, s), e.boltLocal.shell(e.config, s))
		}
		c.steps++
		c.verb[s.verb]++
		if difference != "" {
			c.difference[difference]++
		}
	}
}

// report logs what the run has shown, with each difference and its reason.
func (c *counts) report(t *testing.T) {
	t.Helper()
	t.Logf("%d steps: %v", c.steps, c.verb)
	for _, d := range differences {
		t.Logf("%4d times: %s. %s", c.difference[d.name], d.name, d.reason)
	}
}
