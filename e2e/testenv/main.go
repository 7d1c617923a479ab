// Package testenv gives the tests of this module what they run on: binaries
// built once, namespaces that are deleted, a seed that is printed.
package testenv

import (
	"fmt"
	"os"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// RequireNetwork is an environment variable. If it is set, tests that need
// network namespaces fail where they would be skipped.
const RequireNetwork = "E2E_REQUIRE_NETWORK"

// Main runs the tests of a package, and cleans up after them.
func Main(m *testing.M) {
	os.Exit(run(m))
}

// MainWithNetwork is Main for packages that need network namespaces. If they
// cannot be had, it says so on stderr, and NeedNetwork skips.
func MainWithNetwork(m *testing.M) {
	if reason := missing(); reason != "" {
		fmt.Fprintf(os.Stderr, "SKIPPED: all network tests: %s\n", reason)
		os.Exit(run(m))
	}
	if reason := missingMacvlan(); reason != "" {
		fmt.Fprintf(os.Stderr, "SKIPPED: the macvlan test: %s\n", reason)
	}
	// A killed test cannot delete its namespaces; the next one does.
	if swept, err := lab.Sweep(); err != nil {
		fmt.Fprintf(os.Stderr, "namespaces of killed tests are left: %v\n", err)
	} else if len(swept) > 0 {
		fmt.Fprintf(os.Stderr, "deleted namespaces of killed tests: %v\n", swept)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	defer removeBinaries()
	return m.Run()
}
