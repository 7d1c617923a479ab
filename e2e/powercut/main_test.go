// Package powercut cuts the power of a node at every moment of its life, and
// holds what every disk that may be left has to say against what was answered
// before. The calls are those of the real binary, recorded by package trace;
// what a disk may hold is the matter of package disk.
package powercut

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// AllCuts is an environment variable. If it is set, all outcomes of each cut are
// tried, or as many as limit says; else a few by the seed.
const AllCuts = "E2E_ALL_CUTS"

func all() bool { return os.Getenv(AllCuts) != "" }

// limit is how many outcomes of one cut are tried at most, but for the extreme
// ones, which are tried in any case.
const limit = 64

func TestMain(m *testing.M) {
	unix.Umask(0o022) // the traced calls have it too
	if boot := os.Getenv(bootVariable); boot != "" {
		os.Exit(callInBoot(boot))
	}
	testenv.Main(m)
}
