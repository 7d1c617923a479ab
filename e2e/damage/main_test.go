// Package damage spoils the files of a node in every way that can be counted,
// and lets the node go on: a checkpoint of 500 allocations in two networks, with
// its journal and without, then all verbs, then `repair`.
//
// What must hold whatever was done: no panic and no endless call, no address
// that a living attachment holds is given to another, and what the node says is
// either right or refused with a reason. With a whole journal the first ADD
// brings everything back.
//
// The calls run in worker processes of this test binary, so that a crash is one
// case's fault and not the end of the run; a sample runs with the real binary.
package damage

import (
	"os"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		os.Exit(work())
	}
	testenv.Main(m)
}
