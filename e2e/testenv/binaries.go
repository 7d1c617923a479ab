package testenv

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// built are the binaries of this test process.
var built = struct {
	sync.Mutex
	dir   string
	names map[string]error // the outcome of each build
}{names: map[string]error{}}

// binDirVariable is an environment variable: a directory with all binaries that
// are needed, of make or of the test process that started this one.
const binDirVariable = "E2E_BIN_DIR"

// Binary builds the named binary, once per test process, and returns its
// path.
func Binary(tb testing.TB, name string) string {
	tb.Helper()
	return filepath.Join(BinDir(tb, name), name)
}

// BinDir builds the named binaries, each once per test process, and returns
// their directory.
func BinDir(tb testing.TB, names ...string) string {
	tb.Helper()
	if dir := os.Getenv(binDirVariable); dir != "" {
		return dir
	}
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "bolt-local-e2e-")
		if err != nil {
			tb.Fatal(err)
		}
		built.dir = dir
	}
	for _, name := range names {
		err, done := built.names[name]
		if !done {
			err = lab.Build(tb.Context(), built.dir, name)
			built.names[name] = err
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return built.dir
}

func removeBinaries() {
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
}
