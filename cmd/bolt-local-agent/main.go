// Command bolt-local-agent asks a node's container runtime which pods run, and
// brings bolt-local's checkpoint in line with it.
package main

import (
	"os"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/cli"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(cli.Main(version, os.Args[1:], os.Stdout, os.Stderr)) }
