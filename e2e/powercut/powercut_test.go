package powercut

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestAfterEveryPowerCutTheNodeOpensAndObeys(t *testing.T) {
	seed := testenv.Seed(t)
	var sum counts
	t.Run("scenarios", func(t *testing.T) { // waits for the parallel ones
		for i, s := range scenarios {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				r := s.record(t, s.begin(t))
				r.random = testenv.Rand(seed, uint64(i))
				r.cutEverywhere(t)
				sum.add(&r.counts)
				t.Log(&r.counts)
			})
		}
	})
	t.Logf("in all: %s", &sum)
}
