package migration

import (
	"encoding/json"
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

// migrateStatus is the answer of `bolt-local migrate status --output json`, as
// far as the tests read it.
type migrateStatus struct {
	Networks []struct {
		Name     string `json:"name"`
		Phase    string `json:"phase"`
		Target   string `json:"target"`
		WaitsFor string `json:"waitsFor"`
	} `json:"networks"`
}

// waitsFor is why the next step of the network is not taken.
func (n network) waitsFor(t *testing.T) string {
	t.Helper()
	out, err := lab.Tool(t.Context(), n.boltLocal, "migrate", "status", "--output", "json", "--data-dir", n.dataDir)
	if err != nil {
		t.Fatal(err)
	}
	var s migrateStatus
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("decoding %s: %v", out, err)
	}
	for _, one := range s.Networks {
		if one.Name == n.name {
			return one.WaitsFor
		}
	}
	t.Errorf("migrate status does not name network %s: %s", n.name, out)
	return ""
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
