package testenv

import (
	"os"
	"os/exec"
	"testing"
)

// ownProcessesVariable is an environment variable, set where the test runs in
// a pid namespace of its own.
const ownProcessesVariable = "E2E_OWN_PROCESSES"

// InOwnProcesses runs the rest of the test in a pid namespace of its own, in
// another process, and reports whether this is that process. The test returns
// at once if not. It needs the named binaries.
//
// bolt-local asks all processes of the machine whether a network namespace is
// still in use. One that it may not ask, as process 1 of some sandboxes, would
// decide the test.
func InOwnProcesses(t *testing.T, binaries ...string) bool {
	t.Helper()
	if os.Getenv(ownProcessesVariable) != "" {
		return true
	}
	NeedNetwork(t)
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		skipIf(t, "no unshare(1), of the package util-linux")
	}
	cmd := exec.CommandContext(t.Context(), unshare, "--fork", "--pid", "--mount-proc", "--kill-child",
		os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(),
		ownProcessesVariable+"=1",
		binDirVariable+"="+BinDir(t, binaries...))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("in a pid namespace of its own: %v\n%s", err, out)
	}
	return false
}
