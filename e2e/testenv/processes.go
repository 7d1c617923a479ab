package testenv

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
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
	return inOwnProcesses(t, nil, binaries)
}

// InOwnNode is InOwnProcesses with a network namespace as well: the process
// plays a whole node. What is mounted, attached and started there is gone with
// it.
func InOwnNode(t *testing.T, binaries ...string) bool {
	t.Helper()
	return inOwnProcesses(t, []string{"--net"}, binaries)
}

func inOwnProcesses(t *testing.T, more, binaries []string) bool {
	t.Helper()
	if os.Getenv(ownProcessesVariable) != "" {
		return true
	}
	NeedNetwork(t)
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		skipIf(t, "no unshare(1), of the package util-linux")
	}
	args := append([]string{"--fork", "--pid", "--mount-proc", "--kill-child"}, more...)
	args = append(args, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd := exec.CommandContext(t.Context(), unshare, args...)
	// It must not outlive a test process that is killed. The kernel means the
	// thread that started it, so that one has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(),
		ownProcessesVariable+"=1",
		binDirVariable+"="+BinDir(t, binaries...))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("in a pid namespace of its own: %v\n%s", err, out)
	} else {
		t.Logf("in a pid namespace of its own:\n%s", out)
	}
	return false
}
