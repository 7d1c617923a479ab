package hostlocal

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// nobody is an owner of no file.
const nobody = 65534

// init keeps the first thread from the tests: theirs may get namespaces of their
// own, and /proc/self shows those of the first.
func init() { runtime.LockOSThread() }

// asNobody runs the rest of the test without root's right to read and write
// everything. The directories above d are opened for that.
func asNobody(t *testing.T, d *Dir) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	temp := filepath.Dir(filepath.Dir(filepath.Dir(d.path)))
	must(t, os.Chmod(temp, 0o755))
	runtime.LockOSThread()
	must(t, errors.Join(unix.Setfsgid(nobody), unix.Setfsuid(nobody)))
	t.Cleanup(func() {
		if err := errors.Join(unix.Setfsuid(0), unix.Setfsgid(0)); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	})
	if _, err := os.Lstat(temp); err != nil {
		t.Skipf("nobody cannot reach the temporary directory: %v", err)
	}
}

// ownMounts gives the rest of the test a mount namespace of its own. It ends
// with the test's thread.
func ownMounts(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	runtime.LockOSThread() // never unlocked
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Skipf("no mount namespace is to be had: %v", err)
	}
	must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
}

// mount mounts until the end of the test, which has its own mounts.
func mount(t *testing.T, source, target, fstype string, flags uintptr, data string) {
	t.Helper()
	err := unix.Mount(source, target, fstype, flags, data)
	if errors.Is(err, unix.ENODEV) {
		t.Skipf("the kernel has no %s", fstype)
	}
	if err != nil {
		t.Fatalf("mounting %s on %s: %v", fstype, target, err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(target, unix.MNT_DETACH)) })
}

// readOnly makes a directory and what is below read-only.
func readOnly(t *testing.T, path string) {
	t.Helper()
	mount(t, path, path, "", unix.MS_BIND, "")
	must(t, unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
}

// withoutUnnamed is a file system without O_TMPFILE, for the rest of the test.
func withoutUnnamed(t *testing.T) {
	before := openUnnamed
	openUnnamed = func(dir string) (*os.File, error) {
		return nil, &os.PathError{Op: "open", Path: dir, Err: unix.EOPNOTSUPP}
	}
	t.Cleanup(func() { openUnnamed = before })
}

// fileSystems are the ways in which a file gets its name only when it is whole.
var fileSystems = map[string]func(*testing.T){
	"with unnamed files":    func(*testing.T) {},
	"without unnamed files": withoutUnnamed,
}

// tick waits until a change has another time than all before: kernels may count
// in steps of several milliseconds.
func tick(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clock")
	now := func() int64 {
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Chmod(path, 0o600))
		var st unix.Stat_t
		must(t, unix.Stat(path, &st))
		return st.Ctim.Nano()
	}
	for start := now(); now() == start; {
		time.Sleep(time.Millisecond)
	}
}
