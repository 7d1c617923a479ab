package cri

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// gate holds the answers of the bridge to ADD back, when bolt-local has already
// given an address.
type gate struct{ arrived, opened string }

const heldBridge = `#!/bin/sh
answer=$(%[1]q)
status=$?
if [ "$CNI_COMMAND" = ADD ]; then
	: >%[2]q
	until [ -e %[3]q ]; do sleep 0.05; done
fi
printf %%s "$answer"
exit $status
`

func (n *node) holdBridge(t *testing.T) gate {
	t.Helper()
	dir := t.TempDir()
	g := gate{filepath.Join(dir, "arrived"), filepath.Join(dir, "opened")}
	n.uninstall(t, lab.Bridge)
	script := fmt.Sprintf(heldBridge, testenv.Binary(t, lab.Bridge), g.arrived, g.opened)
	if err := os.WriteFile(filepath.Join(n.binDir, lab.Bridge), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g gate) waitFor(t *testing.T) {
	t.Helper()
	eventually(t, startLimit, "an ADD arrives", func() error {
		_, err := os.Stat(g.arrived)
		return err
	})
}

func (g gate) open(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(g.opened, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
