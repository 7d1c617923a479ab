package cri

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupVariable is an environment variable: the process id of the test process,
// as the machine knows it. A cgroup outlives the namespaces of its processes.
const cgroupVariable = "E2E_CRI_MAKER"

// cgroupPrefix begins the name of each test's cgroup; that process id and the
// test's name follow.
const cgroupPrefix = "bolt-local-e2e-"

// cgroup is the parent of all cgroups of the test's pods, as a path below the
// root of each hierarchy.
func cgroup(t *testing.T) string {
	return "/" + cgroupPrefix + os.Getenv(cgroupVariable) + "-" + strings.ReplaceAll(t.Name(), "/", "-")
}

// sweepCgroups names the maker, and removes cgroups of killed test processes.
func sweepCgroups() {
	if os.Getenv(cgroupVariable) != "" {
		return // in a test's own namespaces: the process ids of others mean nothing
	}
	if err := os.Setenv(cgroupVariable, strconv.Itoa(os.Getpid())); err != nil {
		panic(err) // the name is a constant
	}
	for _, root := range cgroupRoots() {
		left, _ := filepath.Glob(filepath.Join(root, cgroupPrefix+"*")) // the pattern is valid
		for _, dir := range left {
			maker, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), cgroupPrefix), "-")
			pid, err := strconv.Atoi(maker)
			if err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
				_ = removeCgroup(dir) // one that is in use stays
			}
		}
	}
}

// cgroupRoots are the mount points of all hierarchies, of version 1 or 2.
func cgroupRoots() []string {
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return nil
	}
	defer f.Close()
	var roots []string
	for s := bufio.NewScanner(f); s.Scan(); {
		// device, mount point, type
		if field := strings.Fields(s.Text()); len(field) > 2 && (field[2] == "cgroup" || field[2] == "cgroup2") {
			roots = append(roots, field[1])
		}
	}
	return roots
}

// removeCgroups removes all cgroups of the test. The last of its processes may
// still be about to go.
func removeCgroups(t *testing.T) {
	t.Helper()
	var err error
	for range 50 {
		var errs []error
		for _, root := range cgroupRoots() {
			errs = append(errs, removeCgroup(filepath.Join(root, cgroup(t))))
		}
		if err = errors.Join(errs...); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("cgroups are left behind: %v", err)
}

// removeCgroup removes a cgroup and all below it.
func removeCgroup(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, dir := range slices.Backward(dirs) { // the innermost first
		if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("removing cgroup %s: %w", dir, err)
		}
	}
	return nil
}
