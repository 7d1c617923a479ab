package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

const bootIDFile = "/proc/sys/kernel/random/boot_id"

// Boot is the boot that plugins see, in the place of the machine's.
type Boot struct {
	file string
	n    int // of the newest boot
}

// FakeBoot mounts another boot id over the kernel's. It is for tests in a mount
// namespace of their own (see InOwnMounts and InOwnProcesses).
func FakeBoot(t *testing.T) *Boot {
	t.Helper()
	if os.Getenv(ownMountsVariable) == "" && os.Getenv(ownProcessesVariable) == "" {
		t.Fatal("a boot id is wanted outside of a mount namespace of the test's own")
	}
	b := &Boot{file: filepath.Join(t.TempDir(), "boot_id")}
	b.Reboot(t)
	if err := unix.Mount(b.file, bootIDFile, "", unix.MS_BIND, ""); err != nil {
		t.Fatalf("mounting a boot id over %s: %v", bootIDFile, err)
	}
	t.Cleanup(func() { // before the directory is removed
		if err := unix.Unmount(bootIDFile, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", bootIDFile, err)
		}
	})
	return b
}

// Reboot begins a boot that never was.
func (b *Boot) Reboot(t *testing.T) {
	t.Helper()
	b.n++
	b.Show(t, b.n)
}

// Show makes the boot id that of the n-th boot, from 1 on.
func (b *Boot) Show(t *testing.T, n int) {
	t.Helper()
	id := fmt.Sprintf("%08d-0000-4000-8000-000000000000\n", n)
	if err := os.WriteFile(b.file, []byte(id), 0o644); err != nil { // in place: it is mounted
		t.Fatal(err)
	}
}
