package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
)

// Values of --output.
const (
	outputTable      = "table"
	outputWide       = "wide"
	outputJSON       = "json"
	outputYAML       = "yaml"
	outputText       = "text"
	outputPrometheus = "prometheus"
)

// choice is a flag that takes one of a few values. The first is the default.
type choice struct {
	value   string
	allowed []string
}

// outputFlag adds --output to cmd and returns where its value will be.
func outputFlag(cmd *cobra.Command, allowed ...string) *choice {
	c := &choice{value: allowed[0], allowed: allowed}
	cmd.Flags().VarP(c, "output", "o", "form of the output")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// String implements pflag.Value.
func (c *choice) String() string { return c.value }

// Set implements pflag.Value.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("it must be one of %s", strings.Join(c.allowed, ", "))
	}
	c.value = s
	return nil
}

// Type implements pflag.Value; the help shows it behind the flag.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

// networkFlag adds --network to cmd and returns where its value will be.
func (a *app) networkFlag(cmd *cobra.Command, help string) *string {
	name := cmd.Flags().String("network", "", help)
	_ = cmd.RegisterFlagCompletionFunc("network", a.completeNetworks)
	return name
}

// hostLocalDirFlag adds --host-local-dir to cmd, for what is not stored any more.
func (a *app) hostLocalDirFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&a.hostLocalDirs, "host-local-dir", nil, "look for tombstones in this `dir`, too")
	_ = cmd.MarkFlagDirname("host-local-dir")
}

// cacheDirFlag adds --cni-cache-dir to cmd; see [caches].
func cacheDirFlag(cmd *cobra.Command, dirs *[]string) {
	cmd.Flags().StringArrayVar(dirs, "cni-cache-dir", nil, "cached results in `dir` (default CNI's, multus')")
	_ = cmd.MarkFlagDirname("cni-cache-dir")
}

// caches are the directories of cached results that --cni-cache-dir has named.
func caches(given []string) []string {
	if len(given) > 0 {
		return given
	}
	return ipam.DefaultCNICacheDirs()
}

func (a *app) completeNetworks(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []string
	err := a.store(ipam.ReadTimeout).ReadAny(false, func(tx *store.Tx) error {
		names = tx.Networks()
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
