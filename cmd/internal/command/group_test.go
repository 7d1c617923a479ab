package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestWhatIsNoCommandIsMisuse(t *testing.T) {
	for words, want := range map[string]struct {
		status int
		text   string
	}{
		"":                 {OK, "Available Commands"},
		"step":             {OK, "Available Commands"},
		"step forwad":      {Usage, "prog: unknown command \"forwad\" for \"prog step\"\n\nDid you mean this?\n\tforward\nRun 'prog step --help' for usage.\n"},
		"stp":              {Usage, "prog: unknown command \"stp\" for \"prog\"\n\nDid you mean this?\n\tstep\n"},
		"help":             {OK, "Available Commands"},
		"help step":        {OK, "about steps"},
		"help stp":         {Usage, "prog: unknown command \"stp\" for \"prog\"\n"},
		"help step forwad": {Usage, "prog: unknown command \"forwad\" for \"prog step\"\n"},
		"completion":       {OK, "Available Commands"},
		"completion bash":  {OK, "bash completion"},
		"completion tcsh":  {Usage, "prog: unknown command \"tcsh\" for \"prog completion\"\n"},
	} {
		t.Run(words, func(t *testing.T) {
			root := &cobra.Command{Use: "prog", SilenceErrors: true, SilenceUsage: true}
			step := &cobra.Command{Use: "step", Long: "about steps"}
			forward := &cobra.Command{Use: "forward"}
			Runs(forward, func(*cobra.Command) error { return nil })
			Group(step)
			step.AddCommand(forward)
			root.AddCommand(step)
			root.SetArgs(strings.Fields(words))
			var out strings.Builder
			root.SetOut(&out)
			root.SetErr(&out)
			StrictDefaults(root)
			cmd, err := root.ExecuteC()
			status := Status(cmd, err, &out, func(line string) { fmt.Fprintln(&out, "prog: "+line) })
			if status != want.status || !strings.Contains(out.String(), want.text) {
				t.Errorf("status %d, want %d and %q:\n%s", status, want.status, want.text, out.String())
			}
		})
	}
}
