package wording

import (
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
)

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{"podnet": "podnet", "/a/b-c_d.e": "/a/b-c_d.e", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := ShellWord(text); got != want {
			t.Errorf("%q = %s, want %s", text, got, want)
		}
	}
}

func TestCommandsNameAnotherDataDirectory(t *testing.T) {
	for dir, want := range map[string]string{
		ipam.DefaultDataDir: "bolt-local repair --dry-run",
		"/srv/pod's net":    `bolt-local repair --dry-run --data-dir '/srv/pod'\''s net'`,
	} {
		if got := Command(dir, "repair", "--dry-run"); got != want {
			t.Errorf("command = %s, want %s", got, want)
		}
	}
}
