package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/store"
)

func TestABackupTakesTheRightPlace(t *testing.T) {
	dir, checkpoint := storeWith(t)
	place := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(place, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(name, to string) string {
		path := filepath.Join(place, name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	linked := link("data", dir)
	if err := os.Mkdir(filepath.Join(dir, "podnet"), 0o700); err != nil {
		t.Fatal(err)
	}
	for story, c := range map[string]struct {
		file string
		fail string // in the error, "" where it succeeds
	}{
		"a new file":                            {filepath.Join(place, "new.db"), ""},
		"a former backup":                       {file("old.db", "old"), ""},
		"a link":                                {link("link", checkpoint), "is not a regular file"},
		"a directory":                           {place, "is not a regular file"},
		"a device":                              {"/dev/null", "is not a regular file"},
		"the checkpoint":                        {checkpoint, "is in the data directory"},
		"our lock":                              {filepath.Join(dir, store.LockFile), "is in the data directory"},
		"the journal, by way of a link":         {filepath.Join(linked, store.JournalFile), "is in the data directory"},
		"a new name in the data directory":      {filepath.Join(dir, "backup.db"), "is in the data directory"},
		"a network's directory of host-local's": {filepath.Join(dir, "podnet", "b"), "is in the data directory"},
		"a directory that is not there":         {filepath.Join(place, "none", "b"), "no such file"},
	} {
		t.Run(story, func(t *testing.T) {
			before, _ := os.ReadDir(dir)
			status, stdout, stderr := run("backup", c.file, "--data-dir", dir)
			if after, _ := os.ReadDir(dir); len(after) != len(before) {
				t.Errorf("the data directory has %d names, and had %d", len(after), len(before))
			}
			if c.fail != "" {
				if status != command.Failed || stdout != "" || !strings.Contains(stderr, c.fail) {
					t.Errorf("exit status %d, stdout %s, stderr %s; want %q", status, stdout, stderr, c.fail)
				}
				return
			}
			info, err := os.Stat(c.file)
			if err != nil || info.Mode() != 0o600 || status != command.OK || !strings.HasPrefix(stdout, "Copied 1 network with 1 allocation, ") {
				t.Errorf("exit status %d, %v, %v, stdout %s, stderr %s", status, info, err, stdout, stderr)
			}
		})
	}
	if left, err := filepath.Glob(filepath.Join(place, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestStdoutGetsWhatAFileGets(t *testing.T) {
	dir, _ := storeWith(t)
	_, stdout, stderr := run("backup", "-", "--data-dir", dir)
	file := filepath.Join(t.TempDir(), "b.db")
	status, _, _ := run("backup", file, "--data-dir", dir)
	got, err := os.ReadFile(file)
	if err != nil || status != command.OK || !bytes.Equal(got, []byte(stdout)) {
		t.Errorf("exit status %d, %v, %d bytes in the file, %d on stdout", status, err, len(got), len(stdout))
	}
	if !strings.HasPrefix(stderr, "bolt-local: Copied 1 network with 1 allocation, ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("stderr: %s", stderr)
	}
}
