package cri

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// endPod ends a pod's processes and its namespace while containerd is away.
func (n *node) endPod(t *testing.T, p *pod) {
	t.Helper()
	n.unmountNamespace(t, p)
	if err := unix.Kill(p.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, startLimit, "the pod ends", func() error {
		if _, err := os.Stat(p.ns.Path); err == nil {
			return errors.New(p.ns.Path + " is there")
		}
		return nil
	})
}

// unmountNamespace takes away what keeps a pod's namespace when its processes
// have ended.
func (n *node) unmountNamespace(t *testing.T, p *pod) {
	t.Helper()
	for _, path := range mountsBelow(t, containerdDir) {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err == nil && st.Ino == p.inode {
			unmount(t, path)
			return
		}
	}
	t.Fatalf("the namespace of pod %s is not mounted", p.name)
}

// mountsBelow are all mount points below a directory, the innermost first.
func mountsBelow(t *testing.T, dir string) []string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	var below []string
	for line := range strings.Lines(string(mounts)) {
		// device, mount point, type
		if field := strings.Fields(line); len(field) > 1 && strings.HasPrefix(field[1], dir+"/") {
			below = append(below, field[1])
		}
	}
	slices.Reverse(below)
	return below
}

// wipe ends all pods in the middle of a boot and removes what the runtime knew
// of them, as CRI-O does after an unclean shutdown. No DEL is sent.
func (n *node) wipe(t *testing.T) {
	t.Helper()
	n.disconnect()
	endProcesses(t)
	for _, path := range mountsBelow(t, containerdDir) {
		unmount(t, path)
	}
	for _, dir := range []string{containerdDir, filepath.Join(libDir, "containerd")} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	n.start(t)
	n.importImage(t)
}
