package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
)

func TestWhatHelpSaysFitsATerminal(t *testing.T) {
	for _, words := range []string{"", "backfill", "gc", "serve", "version"} {
		var stdout, stderr strings.Builder
		status := Main("v1", strings.Fields(words+" --help"), &stdout, &stderr)
		text, _, usage := strings.Cut(stdout.String(), "Usage:")
		if status != command.OK || !usage || text == "" {
			t.Errorf("%s: exit status %d: %s%s", words, status, stdout.String(), stderr.String())
		}
		for line := range strings.Lines(text) {
			if len(line) > 81 {
				t.Errorf("%s: %d columns: %s", words, len(line)-1, line)
			}
		}
	}
}

// Nothing to free in the wrong directory is no good news.
func TestGCSaysWhereThereIsNoCheckpoint(t *testing.T) {
	dir := t.TempDir()
	var stdout, stderr strings.Builder
	status := Main("v1", []string{"gc", "--data-dir", dir, "--runtime-endpoint", filepath.Join(dir, "none.sock")}, &stdout, &stderr)
	want := "bolt-local-agent: there is no checkpoint in " + dir + ": "
	if status != command.Failed || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit status %d, %s", status, stderr.String())
	}
}

func TestGCFailsWhereANetworkThatIsNamedIsNotStored(t *testing.T) {
	n := newNode(t)
	if status, _, stderr := n.run("gc"); status != command.OK {
		t.Errorf("none is named: exit status %d: %s", status, stderr)
	}
	status, stdout, stderr := n.run("gc", "--network", "typo")
	if status != command.Failed || !strings.Contains(stderr, "bolt-local-agent: network typo is not stored in "+n.dataDir) || stdout != "Nothing was freed.\n" {
		t.Errorf("exit status %d: %s%s", status, stdout, stderr)
	}
}

func TestAMistypedCommandIsAnsweredLegibly(t *testing.T) {
	var stdout, stderr strings.Builder
	status := Main("v1", []string{"backfil"}, &stdout, &stderr)
	want := "bolt-local-agent: unknown command \"backfil\" for \"bolt-local-agent\"\n\nDid you mean this?\n\tbackfill\nRun 'bolt-local-agent --help' for usage.\n"
	if status != command.Usage || stderr.String() != want {
		t.Errorf("exit status %d, stderr:\n%s", status, stderr.String())
	}
}

func TestTheVersionIsShownAsByThePlugin(t *testing.T) {
	var stdout, stderr strings.Builder
	status := Main("v1", []string{"version"}, &stdout, &stderr)
	if status != command.OK || !strings.HasPrefix(stdout.String(), "bolt-local-agent  v1\n") || !strings.Contains(stdout.String(), "schema            1\n") {
		t.Errorf("exit status %d: %s%s", status, stdout.String(), stderr.String())
	}
}
