package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ownMountsVariable is an environment variable, set where the test runs in a
// mount namespace of its own.
const ownMountsVariable = "E2E_OWN_MOUNTS"

// InOwnMounts runs the rest of the test in a mount namespace of its own, in
// another process, and reports whether this is that process. The test returns
// at once if not. It needs the named binaries. What is mounted there is seen by
// nobody else, and is gone with the process, also with one that was killed.
func InOwnMounts(t *testing.T, binaries ...string) bool {
	t.Helper()
	if os.Getenv(ownMountsVariable) != "" {
		return true
	}
	if os.Geteuid() != 0 {
		skipIf(t, "not root")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v"}
	if deadline, ok := t.Deadline(); ok {
		args = append(args, fmt.Sprintf("-test.timeout=%v", time.Until(deadline)))
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(),
		ownMountsVariable+"=1",
		binDirVariable+"="+BinDir(t, binaries...))
	// With a new mount namespace, package syscall also makes its mounts
	// private.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		t.Errorf("in a mount namespace of its own: %v\n%s", err, out)
	case err != nil:
		skipIf(t, fmt.Sprintf("no mount namespace: %v", err))
	default:
		t.Logf("in a mount namespace of its own:\n%s", out)
	}
	return false
}

// Tmpfs mounts a tmpfs of so many bytes on a new directory. It is for tests in
// a mount namespace of their own (see InOwnMounts).
func Tmpfs(t *testing.T, size int64) (dir string) {
	t.Helper()
	if os.Getenv(ownMountsVariable) == "" {
		t.Fatal("a tmpfs is wanted outside of a mount namespace of the test's own")
	}
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Fatalf("mounting a tmpfs on %s: %v", dir, err)
	}
	t.Cleanup(func() { // before the directory is removed
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
	return dir
}

// BindOver mounts a directory over itself, with flags such as unix.MS_RDONLY,
// until the returned function is called, or the test ends. It is for tests in a
// mount namespace of their own (see InOwnMounts).
func BindOver(t *testing.T, dir string, flags uintptr) (undo func()) {
	t.Helper()
	if os.Getenv(ownMountsVariable) == "" {
		t.Fatal("a mount is wanted outside of a mount namespace of the test's own")
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		t.Fatalf("mounting %s over itself: %v", dir, err)
	}
	undo = sync.OnceFunc(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
	t.Cleanup(undo) // before the directory is removed
	if flags != 0 {
		// A bind mount takes its flags in a second step alone.
		if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatalf("changing the mount of %s: %v", dir, err)
		}
	}
	return undo
}
