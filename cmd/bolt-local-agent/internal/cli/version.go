package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/store"
)

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version, and what it knows",
		Example: "  bolt-local-agent version",
	}
	return a.command(cmd, func(context.Context) error {
		_, err := fmt.Fprintf(a.out, "bolt-local-agent  %s\ncommit            %s\ngo                %s\nschema            %d\ncri               v1\n",
			a.version, cmp.Or(command.Commit(), "unknown"), runtime.Version(), store.Schema)
		return err
	})
}
