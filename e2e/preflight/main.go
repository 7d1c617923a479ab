// Command preflight says which tests of this module would be skipped here,
// and why. `go test ./...` keeps quiet about tests that it skips.
package main

import (
	"fmt"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

func main() {
	reason := lab.Missing()
	if reason != "" {
		fmt.Printf("SKIPPED: all network tests: %s\n", reason)
		return
	}
	if reason := lab.MissingMacvlan(); reason != "" {
		fmt.Printf("SKIPPED: the macvlan test: %s\n", reason)
	}
	if reason := lab.MissingRuntime(); reason != "" {
		fmt.Printf("SKIPPED: all tests of a real container runtime: %s\n", reason)
	}
}
