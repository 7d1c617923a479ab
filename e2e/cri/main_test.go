// Package cri tests bolt-local and its agent on a real containerd, which makes
// the pods that are asked for over the CRI, on a node of the test's own.
package cri

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestMain(m *testing.M) {
	sweepCgroups()
	testenv.MainWithNetwork(m)
}

// onNode runs the rest of the test in namespaces of its own, in another
// process, and reports whether this is that process. The test returns at once
// if not.
func onNode(t *testing.T, more ...string) bool {
	t.Helper()
	t.Parallel()
	testenv.NeedProgram(t, "containerd", "containerd")
	testenv.NeedProgram(t, "ctr", "containerd")
	testenv.NeedProgram(t, "runc", "runc")
	binaries := append([]string{lab.BoltLocal, lab.Bridge, lab.Loopback, lab.Pause}, more...)
	if testenv.InOwnNode(t, binaries...) {
		return true
	}
	removeCgroups(t) // all of its processes are gone
	return false
}
