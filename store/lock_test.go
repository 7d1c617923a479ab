package store

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

func TestAHeldLockEndsTheCallWithinItsBound(t *testing.T) {
	n := newNodeWith(t, 1)
	n.opts.LockTimeout = 50 * time.Millisecond
	other := flock.New(n.file(LockFile))
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"ADD":  func() error { return n.Update(opAdd, func(*Tx) error { return nil }) },
		"read": func() error { return n.Read(func(*Tx) error { return nil }) },
	} {
		err := call()
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), n.file(LockFile)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	n.opts.LockTimeout = 5 * time.Second
	n.add("10.0.0.2", "a") // whoever gave up has not kept the lock
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

// lockAndWait holds the lock at path and returns once the call behind done
// waits for it. The call ends on its own at its bound, so this does too.
func lockAndWait(t *testing.T, path string, start func(), done <-chan error) (unlock func()) {
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

func TestALockFileThatIsReplacedUnderAWaiterIsTakenAgain(t *testing.T) {
	n := newNodeWith(t, 1)
	n.opts.LockTimeout = time.Minute
	lock := n.file(LockFile)
	var released atomic.Bool
	done := make(chan error, 1)
	unlockOld := lockAndWait(t, lock, func() {
		go func() {
			done <- n.update(opAdd, func(net *Network) error {
				if !released.Load() {
					return errors.New("it works while another holds the lock that is on disk")
				}
				return net.Put(allocation(net.Epoch(), "10.0.0.2", "a"))
			})
		}()
	}, done)
	if err := os.Rename(lock, lock+".away"); err != nil {
		t.Fatal(err)
	}
	unlockNew := lockAndWait(t, lock, unlockOld, done)
	released.Store(true)
	unlockNew()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := n.held(); len(got) != 2 || got["10.0.0.2"] != "a" {
		t.Errorf("held = %v", got)
	}
	for _, path := range []string{lock, lock + ".away"} {
		if free, err := flock.New(path).TryLock(); !free || err != nil {
			t.Errorf("the lock on %s is kept: %v", path, err)
		}
	}
}

func TestADirectoryThatIsRemovedUnderAWaiterIsANewNode(t *testing.T) {
	for name, c := range map[string]struct {
		op   Op
		fn   func(*Network) error
		held int
	}{
		"ADD": {opAdd, func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.2", "a")) }, 1},
		"DEL": {opDel, func(net *Network) error { return net.Delete(ip("10.0.0.2")) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodeWith(t, 3)
			n.opts.LockTimeout = time.Minute
			done := make(chan error, 1)
			unlock := lockAndWait(t, n.file(LockFile), func() { go func() { done <- n.update(c.op, c.fn) }() }, done)
			if err := os.RemoveAll(n.dir); err != nil {
				t.Fatal(err)
			}
			unlock()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if got := n.held(); len(got) != c.held {
				t.Errorf("held = %v", got)
			}
			if _, err := os.Stat(n.dir); (err == nil) != (c.held > 0) {
				t.Errorf("the directory: %v", err)
			}
		})
	}
}

func TestParallelWritersLoseNothing(t *testing.T) {
	n := newNode(t)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() { n.add(addrAt(i), "c") })
	}
	wg.Wait()
	if got := len(n.held()); got != 40 {
		t.Errorf("%d are held, want 40", got)
	}
	n.journalIsComplete()
}

func TestWitness(t *testing.T) {
	for _, w := range []witness{
		{BootID: "3ee21a1c-4a4a-4d7e-9c7e-1b1a4c1c2d3e", Checkpoint: "00112233445566778899aabbccddeeff", Tx: 12345678901234},
		{Checkpoint: "x", Tx: 0},
	} {
		b := w.encode()
		got, ok := parseWitness(b)
		if !ok || got != w {
			t.Errorf("%+v reads back as %+v, %v", w, got, ok)
		}
		for i := range b {
			bad := append([]byte(nil), b...)
			bad[i] ^= 1
			if got, ok := parseWitness(bad); ok {
				t.Errorf("byte %d changed: read as %+v", i, got)
			}
			if _, ok := parseWitness(b[:i]); ok {
				t.Errorf("cut to %d bytes: read", i)
			}
		}
	}
}
