package testenv

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// Dump is what bolt-local says that dataDir holds.
func Dump(tb testing.TB, dataDir string) lab.Dump {
	tb.Helper()
	d, err := lab.ReadDump(tb.Context(), Binary(tb, lab.BoltLocal), dataDir)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}
