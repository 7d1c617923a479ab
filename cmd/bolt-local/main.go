// Command bolt-local is a CNI IPAM plugin, and with no CNI_COMMAND in its
// environment the command line for whoever runs the node.
package main

import (
	"os"

	"github.com/bolt-local/bolt-local/cmd/bolt-local/internal/cli"
	"github.com/bolt-local/bolt-local/cmd/bolt-local/internal/plugin"
	_ "github.com/bolt-local/bolt-local/cmd/bolt-local/internal/startup"
)

// version is set by the linker.
var version = "dev"

func main() {
	parent := os.Getppid() // first of all: see plugin.Main
	if os.Getenv("CNI_COMMAND") != "" {
		os.Exit(plugin.Main(version, parent))
	}
	os.Exit(cli.Main(version, os.Args[1:], os.Stdout, os.Stderr))
}
