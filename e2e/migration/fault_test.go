package migration

import (
	"os"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// step is a way from one phase to the next, which an ADD takes.
type step struct {
	prepare func(*testing.T, network) held
	target  string
}

var steps = map[string]step{
	"the import":              {onHostLocal, switched},
	"the step to expand":      {reached(legacy), expand},
	"the step to switch":      {reached(expand), switched},
	"the step to contract":    {readyToContract, contract},
	"an ADD in contract":      {inContract, contract},
	"the step back to switch": {inContract, switched},
	"the step back to expand": {reached(switched), expand},
	"the step back to legacy": {reached(expand), legacy},
}

// expectWhole makes an ADD that may fail, for want of what it may not write, and
// checks that nothing is half done.
func (n network) expectWhole(t *testing.T, target string, pods held) (failed bool) {
	t.Helper()
	ours := n.ours(target)
	reply := ours.try(t, ours.call("ADD", "tried"))
	if failed = reply.Failed(); failed {
		n.expectIOError(t, reply)
	} else {
		pods.note(t, "tried", address(t, reply))
	}
	n.expectHeld(t, pods)
	return failed
}

// expectIOError checks that an error has its code, and says where.
func (n network) expectIOError(t *testing.T, reply lab.Reply) {
	t.Helper()
	text := reply.Error().Error()
	if reply.ErrorCode() != types.ErrIOFailure {
		t.Errorf("code %d, want %d: %s", reply.ErrorCode(), types.ErrIOFailure, text)
	}
	if !strings.Contains(text, n.dataDir) && !strings.Contains(text, n.parent) {
		t.Errorf("the error names neither %s nor %s: %s", n.dataDir, n.parent, text)
	}
}

// expectHeld checks what is held in whatever phase, in all forms that are there.
func (n network) expectHeld(t *testing.T, pods held) {
	t.Helper()
	if got, phase := n.dump(t); phase != "" {
		pods.expect(t, "dump", got)
	}
	if !n.isShut() {
		pods.expect(t, "host-local's directory", n.files(t))
	}
}

// expectNothingBeside checks that what a swap makes ready is gone.
func (n network) expectNothingBeside(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(n.parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != n.name {
			t.Errorf("%s is left in %s", e.Name(), n.parent)
		}
	}
}
