package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// hold locks the file at path as another process would.
func hold(t *testing.T, path string) (unlock func()) {
	t.Helper()
	other := flock.New(path)
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := other.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
}

// giveUp asks for a lock that is held, until a moment has passed.
func giveUp(t *testing.T, path string) {
	t.Helper()
	if _, err := Acquire(path, Options{Deadline: time.Now().Add(5 * time.Millisecond)}); !errors.Is(err, ErrLocked) {
		t.Fatalf("err = %v", err)
	}
}

// openFiles counts this process's descriptors of the file at path.
func openFiles(t *testing.T, path string) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("the kernel does not say what is open: %v", err)
	}
	n := 0
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); err == nil && to == path {
			n++
		}
	}
	return n
}

// until waits for done, which takes a moment.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := soon(); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to that: %s", what)
		}
	}
}

func TestALockThatIsHeldForLongCollectsNoWaiters(t *testing.T) {
	path := lockFile(t)
	unlock := hold(t, path)
	goroutines := runtime.NumGoroutine()
	for range 20 {
		giveUp(t, path)
	}
	if n := openFiles(t, path) - 1; n > 1 {
		t.Errorf("20 calls that gave up have left %d open files behind", n)
	}
	if n := runtime.NumGoroutine() - goroutines; n > 1 {
		t.Errorf("20 calls that gave up have left %d goroutines behind", n)
	}
	unlock()
	until(t, "nothing of them is left once the lock is free", func() bool {
		return openFiles(t, path) == 0 && runtime.NumGoroutine() <= goroutines && !abandoned.any(path)
	})
	if !isFree(t, path) {
		t.Error("the lock is kept")
	}
}

func TestWhoAsksBesideAWaiterThatGaveUpGetsTheLock(t *testing.T) {
	path := lockFile(t)
	unlock := hold(t, path)
	giveUp(t, path)
	if !abandoned.any(path) {
		t.Fatal("no waiter is left in the kernel")
	}
	done := make(chan error, 1)
	go func() {
		l, err := Acquire(path, Options{Deadline: soon()})
		if err == nil {
			err = l.Unlock()
		}
		done <- err
	}()
	unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAWaiterThatGaveUpConcernsItsOwnFileAlone(t *testing.T) {
	path := lockFile(t)
	unlock := hold(t, path)
	defer unlock()
	giveUp(t, path)
	if other := path + ".other"; abandoned.any(other) {
		t.Errorf("nobody has waited for %s", other)
	}
}

func TestAFileThatIsReplacedUnderWhoPollsIsLockedAgain(t *testing.T) {
	path := lockFile(t)
	unlockOld := hold(t, path)
	giveUp(t, path)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	l, err := Acquire(path, Options{Create: true, Write: true, Mode: 0o600, Deadline: soon()})
	if err != nil {
		t.Fatal(err)
	}
	if isFree(t, path) {
		t.Error("the file that is on disk is not locked")
	}
	unlockOld()
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
}
