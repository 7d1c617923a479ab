package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestStatusTellsFailureFromMisuse(t *testing.T) {
	const usage = "Run 'prog do --help' for usage.\n"
	for name, c := range map[string]struct {
		args   []string
		err    error
		status int
		stderr string
	}{
		"done":                   {[]string{"do"}, nil, OK, ""},
		"failed":                 {[]string{"do"}, errors.New("a\nb"), Failed, "prog: a; b\n"},
		"misused, by itself":     {[]string{"do"}, fmt.Errorf("step: %w", UsageError(errors.New("say which"))), Usage, "prog: step: say which\n" + usage},
		"an unknown flag":        {[]string{"do", "--x"}, nil, Usage, "prog: unknown flag: --x\n" + usage},
		"an argument too many":   {[]string{"do", "x"}, nil, Usage, `prog: unknown command "x" for "prog do"` + "\n" + usage},
		"misused before it runs": {[]string{"do", "--n", "x"}, errors.New("was run"), Usage, `prog: invalid argument "x" for "--n" flag: strconv.ParseInt: parsing "x": invalid syntax` + "\n" + usage},
	} {
		t.Run(name, func(t *testing.T) {
			root := &cobra.Command{Use: "prog", SilenceErrors: true, SilenceUsage: true}
			do := &cobra.Command{Use: "do", Args: cobra.NoArgs}
			do.Flags().Int("n", 0, "")
			Runs(do, func(*cobra.Command) error { return c.err })
			root.AddCommand(do)
			root.SetArgs(c.args)
			var stderr strings.Builder
			cmd, err := root.ExecuteC()
			status := Status(cmd, err, &stderr, func(line string) { fmt.Fprintln(&stderr, "prog: "+line) })
			if status != c.status || stderr.String() != c.stderr {
				t.Errorf("status %d, want %d\n got %q\nwant %q", status, c.status, stderr.String(), c.stderr)
			}
		})
	}
}
