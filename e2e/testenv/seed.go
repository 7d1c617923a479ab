package testenv

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// SeedVariable is an environment variable: the seed of a run to repeat.
const SeedVariable = "E2E_SEED"

// Seed is the seed of the test's random choices, and is logged: a new one for
// each run, or that of SeedVariable.
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	seed := rand.Uint64N(1_000_000_000) // short enough to be typed
	if s := os.Getenv(SeedVariable); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			tb.Fatalf("%s=%s is not a number: %v", SeedVariable, s, err)
		}
	}
	tb.Logf("%s=%d repeats this run", SeedVariable, seed)
	return seed
}

// Rand is a source of random choices. Sources of different streams are
// independent of each other.
func Rand(seed, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream))
}
