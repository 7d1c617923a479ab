package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
)

func TestABackupOfANewerSchemaIsRefused(t *testing.T) {
	dir, checkpoint := storeWith(t)
	backup := filepath.Join(t.TempDir(), "b.db")
	run("backup", backup, "--data-dir", dir)
	setFormat(t, backup, `{"schema":9,"oldestWriter":9,"writer":"v9.0.0","created":"2030-01-01T00:00:00Z","id":"x"}`)
	before, err := os.ReadFile(checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, dataDir := range []string{dir, filepath.Join(t.TempDir(), "empty")} {
		for _, more := range [][]string{nil, {"--dry-run"}, {"--accept"}} {
			status, stdout, stderr := run(append([]string{"restore", backup, "--data-dir", dataDir}, more...)...)
			if status != command.Failed || stdout != "" || !strings.Contains(stderr, backup) || !strings.Contains(stderr, "install version v9.0.0") {
				t.Errorf("%s %v: exit status %d, stdout %s, stderr %s", dataDir, more, status, stdout, stderr)
			}
		}
	}
	if after, err := os.ReadFile(checkpoint); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the checkpoint has changed (%v)", err)
	}
}

func TestWhatComesFromStdinIsNotLeftBehind(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for name, text := range map[string]string{"nothing": "", "something else": "no backup"} {
		tmp, err := spool(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(tmp)
		if got, _ := os.ReadFile(tmp); err != nil || string(got) != text || info.Mode() != 0o600 {
			t.Errorf("%s: %q, %v, %v", name, got, info, err)
		}
		if err := os.Remove(tmp); err != nil {
			t.Error(err)
		}
	}
	if status, _, _ := run("restore", "-", "--data-dir", t.TempDir()); status != command.Failed {
		t.Errorf("exit status %d for what is no backup", status)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
