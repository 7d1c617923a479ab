// Package locktest lets tests hold a lock until another call waits for it.
package locktest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// HoldUntilWaiting holds the lock of the file at path, calls start, and returns
// once the call behind done waits for it. That call ends on its own at its
// bound, so this does too.
func HoldUntilWaiting(t *testing.T, path string, start func(), done <-chan error) (unlock func()) {
	t.Helper()
	l := flock.New(path, flock.SetPermissions(0o600))
	if err := l.Lock(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	start()
	for !waitsFor(t, info.Sys().(*syscall.Stat_t).Ino) {
		select {
		case err := <-done:
			t.Fatalf("the call did not wait for the lock that is held: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	return func() {
		if err := l.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
}

// waitsFor tells whether this process waits for the lock on the file with this
// inode: in /proc/locks a waiter is a line of its own, with an arrow.
func waitsFor(t *testing.T, inode uint64) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Skipf("the kernel does not say who waits for a lock: %v", err)
	}
	for line := range strings.Lines(string(b)) {
		// 1: -> FLOCK ADVISORY WRITE <pid> <major>:<minor>:<inode> 0 EOF
		f := strings.Fields(line)
		if len(f) > 6 && f[1] == "->" && f[2] == "FLOCK" && f[5] == strconv.Itoa(os.Getpid()) && strings.HasSuffix(f[6], fmt.Sprintf(":%d", inode)) {
			return true
		}
	}
	return false
}
