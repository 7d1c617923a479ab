package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

const (
	replaceWorkers = 50
	replaceRounds  = 3 // ADDs and DELs of each worker
)

// An upgrade writes the new binary beside the old one and renames it, while
// the runtime goes on calling.
func TestTheBinaryIsReplacedWhileItIsCalled(t *testing.T) {
	built := testenv.Binary(t, lab.BoltLocal)
	installed := filepath.Join(t.TempDir(), lab.BoltLocal)
	n := network{name: "replaced", subnet: "10.93.0.0/24", dataDir: newDataDir(t), binary: installed}
	replace(t, built, installed)

	var workers, replacer sync.WaitGroup
	done := make(chan struct{})
	replaced := 0
	replacer.Go(func() {
		for ; !closed(done) && !t.Failed(); replaced++ {
			replace(t, built, installed)
		}
	})
	for worker := range replaceWorkers {
		workers.Go(func() {
			for round := range replaceRounds {
				id := fmt.Sprintf("w%d-%d", worker, round)
				n.add(t, id)
				n.run(t, n.call("DEL", id))
			}
		})
	}
	workers.Wait()
	close(done)
	replacer.Wait()
	t.Logf("replaced %d times during %d calls", replaced, 2*replaceWorkers*replaceRounds)
	if replaced == 0 {
		t.Error("never replaced: this run shows nothing")
	}
	if left := n.dump(t); len(left) > 0 {
		t.Errorf("left after DEL of all: %v", left)
	}
}

// replace copies with cp(1): a copy of our own would be open for writing here,
// and a plugin that is started just then would inherit that, which makes the
// new binary "text file busy".
func replace(t *testing.T, from, to string) {
	t.Helper()
	beside := to + ".new"
	if out, err := exec.Command("cp", from, beside).CombinedOutput(); err != nil {
		t.Errorf("cp: %v: %s", err, out)
		return
	}
	if err := os.Rename(beside, to); err != nil {
		t.Error(err)
	}
}
