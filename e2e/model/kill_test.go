package model

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/store"
)

// kill runs call and ends it at the nth failpoint that it passes, as SIGKILL
// would there: the deferred functions that still run unlock and close, as the
// kernel would. It returns the name of that point, "" where call came to its end
// before.
func (n *node) kill(nth int, call func()) (point string) {
	failpoint.Hook = func(name string) {
		if nth--; nth == 0 {
			point = name
			runtime.Goexit()
		}
	}
	defer func() { failpoint.Hook = nil }()
	var panicked string
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				panicked = fmt.Sprintf("%v\n%s", r, debug.Stack())
			}
		}()
		call()
	}()
	<-done
	if panicked != "" {
		panic(panicked)
	}
	if point != "" {
		n.letGo()
	}
	return point
}

// letGo does what the kernel does for a process that has ended, as far as
// deferred functions have not: it gives the locks back and unmaps the
// checkpoint.
func (n *node) letGo() {
	const descriptors = "/proc/self/fd"
	entries, err := os.ReadDir(descriptors)
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		// The garbage collector closes it.
		path, err := os.Readlink(filepath.Join(descriptors, e.Name()))
		var fd int
		if err != nil || !strings.HasPrefix(path, n.root) {
			continue
		}
		if _, err := fmt.Sscan(e.Name(), &fd); err == nil {
			_ = unix.Flock(fd, unix.LOCK_UN)
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	checkpoint := filepath.Join(n.dataDir, store.CheckpointFile)
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if !strings.Contains(line, checkpoint) {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
			panic(err)
		}
		if _, _, errno := unix.Syscall(unix.SYS_MUNMAP, from, to-from, 0); errno != 0 {
			panic(errno)
		}
	}
}
