package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"

	"github.com/containernetworking/cni/pkg/version"
	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/store"
)

// versions is the document that `version` prints as JSON.
type versions struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	// Schema is that of the checkpoints that this version writes.
	Schema int      `json:"schema"`
	CNI    []string `json:"cni"`
}

func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version [flags]",
		Short: "Show the version, and what it knows",
		Example: `  bolt-local version
  bolt-local version --output json | jq -r .version`,
	}
	form := outputFlag(cmd, outputText, outputJSON)
	return a.command(cmd, func(*cobra.Command) error {
		v := versions{
			Version: a.version,
			Commit:  command.Commit(),
			Go:      runtime.Version(),
			Schema:  store.Schema,
			CNI:     version.All.SupportedVersions(),
		}
		if form.value == outputJSON {
			return printJSON(a.out, v)
		}
		return printVersions(a.out, v)
	})
}

func printVersions(s screen, v versions) error {
	_, err := fmt.Fprintf(s, "bolt-local  %s\ncommit      %s\ngo          %s\nschema      %d\ncni         %s\n",
		v.Version, cmp.Or(v.Commit, "unknown"), v.Go, v.Schema, strings.Join(v.CNI, " "))
	return err
}
