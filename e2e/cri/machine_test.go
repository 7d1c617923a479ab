package cri

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// Where containerd, libcni and bolt-local keep things by default. Each test has
// its own /run and /var/lib, so nothing has to be told another place.
const (
	runDir = "/run"
	libDir = "/var/lib"

	containerdDir = "/run/containerd" // what it keeps for this boot
	socket        = "/run/containerd/containerd.sock"

	cniDir   = "/var/lib/cni"
	cacheDir = "/var/lib/cni/results"
	dataDir  = "/var/lib/cni/bolt-local"
)

// mountOwnDirectories gives the test its own /run, which a reboot empties, and
// /var/lib, which it does not.
func mountOwnDirectories(t *testing.T) {
	t.Helper()
	if os.Getpid() != 1 {
		t.Fatal("the directories of the machine are not this test's to mount over")
	}
	lib := t.TempDir() // on a disk
	if err := unix.Mount(lib, libDir, "", unix.MS_BIND, ""); err != nil {
		t.Fatalf("mounting %s over %s: %v", lib, libDir, err)
	}
	mountRun(t)
	t.Cleanup(func() { // before the directories are removed
		endProcesses(t)
		unmount(t, runDir)
		unmount(t, libDir)
	})
}

func mountRun(t *testing.T) {
	t.Helper()
	if err := unix.Mount("tmpfs", runDir, "tmpfs", 0, "mode=755"); err != nil {
		t.Fatalf("mounting a tmpfs on %s: %v", runDir, err)
	}
}

// unmount also detaches all that is mounted below: the namespaces and root file
// systems of pods.
func unmount(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		t.Errorf("unmounting %s: %v", dir, err)
	}
}

// endProcesses kills what the node runs: containerd, its shims, which outlive
// it, and the pods. In this pid namespace that is every process but the test.
func endProcesses(t *testing.T) {
	t.Helper()
	if os.Getpid() != 1 {
		t.Fatal("the processes of the machine are not this test's to kill")
	}
	for range 100 {
		running := processes(t)
		if len(running) == 0 {
			return
		}
		for _, pid := range running {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				t.Fatalf("killing process %d: %v", pid, err)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("processes do not end: %v", processes(t))
}

// processes are the ids of all that run beside the test. Zombies are none: the
// test cannot reap children that it did not start.
func processes(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A zombie has no memory, and so no command line.
		if line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")); err == nil && len(line) > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// thisNode is the network namespace of the test, which is that of the node.
var thisNode = &lab.Namespace{Path: "/proc/self/ns/net"}

// reboot ends everything that does not outlive a boot, and begins another.
func (n *node) reboot(t *testing.T) {
	t.Helper()
	n.disconnect()
	endProcesses(t)
	unmount(t, runDir)
	mountRun(t)
	n.ip(t, "link", "delete", bridgeName)
	n.boot.Reboot(t)
	n.start(t)
}
