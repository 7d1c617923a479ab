package migration

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// byHand runs a command of `bolt-local migrate` on the network.
func (n network) byHand(t *testing.T, command string, flags ...string) error {
	t.Helper()
	args := append([]string{"migrate", command, "--network", n.name, "--data-dir", n.dataDir}, flags...)
	_, err := lab.Tool(t.Context(), n.boltLocal, args...)
	return err
}

// verify lets bolt-local compare both forms.
func (n network) verify(t *testing.T) {
	t.Helper()
	if err := n.byHand(t, "verify"); err != nil {
		t.Error(err)
	}
}

func TestAnOperatorGoesTheWholeWayByHand(t *testing.T) {
	n := newNetwork(t, t.TempDir())
	pods := held{}
	pods.add(t, n.theirs(), "old")
	pods.add(t, n.ours(noTarget), "new")
	for _, step := range []struct {
		command string
		phase   string
		flags   []string
		refused bool
	}{
		{"rollback", expand, nil, false},
		{"rollback", legacy, nil, false},
		{"rollback", legacy, nil, true},
		{"advance", expand, nil, false},
		{"advance", switched, nil, false},
		{"advance", switched, nil, true}, // the pod of host-local
		{"advance", contract, []string{"--force"}, false},
		{"advance", contract, nil, true},
		{"rollback", switched, nil, false},
	} {
		err := n.byHand(t, step.command, step.flags...)
		if refused := err != nil; refused != step.refused {
			t.Errorf("%s to %s: %v", step.command, step.phase, err)
		}
		n.expectIn(t, step.phase, pods)
		n.verify(t)
	}
	expectHostLocalWorks(t, n, pods)
}

// Whose configuration names host-local again has no ADD of bolt-local to come.
func TestRollbackBringsHostLocalBackToWork(t *testing.T) {
	for name, c := range map[string]struct {
		target string // of the last ADD
		flags  []string
		works  bool
	}{
		"no target":                               {noTarget, nil, true},
		"the next ADD would undo it":              {contract, nil, false},
		"the next ADD would undo it, but is none": {contract, []string{"--force"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			n, pods := contracted(t)
			pods.add(t, n.ours(c.target), "last")
			err := n.byHand(t, "rollback", c.flags...)
			if !c.works {
				if err == nil {
					t.Error("rollback succeeded")
				}
				n.expectShut(t, "web")
				n.expectIn(t, contract, pods)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			n.expectInSwitch(t, pods)
			expectHostLocalWorks(t, n, pods)
		})
	}
}
