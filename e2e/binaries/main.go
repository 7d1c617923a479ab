// Command binaries builds all programs that the tests call into a directory,
// which E2E_BIN_DIR tells them. Without it each package builds what it needs.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: binaries DIR")
		os.Exit(2)
	}
	if err := lab.Build(context.Background(), os.Args[1], lab.Programs()...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
