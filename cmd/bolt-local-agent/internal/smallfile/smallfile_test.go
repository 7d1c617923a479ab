package smallfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOnlySmallRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("text"), 0o600),
		os.WriteFile(at("large"), make([]byte, maxSize+1), 0o600),
		os.Symlink("file", at("link")),
		os.Symlink("/dev/zero", at("zero")),
		unix.Mkfifo(at("pipe"), 0o600),
		os.Mkdir(at("dir"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"file": "", "link": "",
		"large": "has more than", "zero": "not a regular file", "pipe": "not a regular file", "dir": "not a regular file",
	} {
		b, err := Read(at(name))
		if want == "" && (err != nil || string(b) != "text") {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want one with %q", name, err, want)
		}
	}
	if _, err := Read(at("missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}
