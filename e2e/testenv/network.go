package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// The kernel is asked once per test process.
var (
	missing        = sync.OnceValue(lab.Missing)
	missingMacvlan = sync.OnceValue(lab.MissingMacvlan)
)

// NeedNetwork skips the test where network namespaces cannot be had.
func NeedNetwork(tb testing.TB) {
	tb.Helper()
	skipIf(tb, missing())
}

// NeedMacvlan skips the test where macvlan devices cannot be had either.
func NeedMacvlan(tb testing.TB) {
	tb.Helper()
	NeedNetwork(tb)
	skipIf(tb, missingMacvlan())
}

// NeedProgram skips the test where a program is not installed.
func NeedProgram(tb testing.TB, name, debianPackage string) {
	tb.Helper()
	if _, err := exec.LookPath(name); err != nil {
		skipIf(tb, fmt.Sprintf("no %s, of the package %s", name, debianPackage))
	}
}

// skipIf also says on stderr what is skipped: a skip is seen with -v only.
func skipIf(tb testing.TB, reason string) {
	tb.Helper()
	switch {
	case reason == "":
	case os.Getenv(RequireNetwork) != "":
		tb.Fatalf("%s is set, but: %s", RequireNetwork, reason)
	default:
		fmt.Fprintf(os.Stderr, "SKIPPED: %s: %s\n", tb.Name(), reason)
		tb.Skip(reason)
	}
}

// Namespace makes a network namespace that is deleted at the test's end.
func Namespace(tb testing.TB, role string) *lab.Namespace {
	tb.Helper()
	NeedNetwork(tb)
	n, err := lab.NewNamespace(role)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := n.Close(); err != nil {
			tb.Errorf("a namespace is left behind: %v", err)
		}
	})
	return n
}
