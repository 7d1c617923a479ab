package hostlocal

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/filelock/locktest"
)

// waiter locks d and tells on the channel once it has done so, and unlocks.
func waiter(d *Dir, write bool, then func()) <-chan error {
	done := make(chan error, 1)
	go func() {
		err := d.Lock(write, soon())
		if err == nil {
			then()
		}
		d.Unlock()
		done <- err
	}()
	return done
}

func TestWaitersAreServedInTheOrderTheyCame(t *testing.T) {
	d := newDir(t, someFiles())
	var mu sync.Mutex // the race detector does not see the lock itself
	var order []string
	var done []chan error
	var unlock func()
	for i, name := range []string{"first", "second", "third"} {
		ended := make(chan error, 1)
		start := func() {
			c := waiter(At(d.path), i%2 == 0, func() {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			})
			go func() { ended <- <-c }()
		}
		if i == 0 {
			unlock = locktest.HoldUntilWaiting(t, d.file(lockName), start, ended)
		} else { // the one before is waiting
			start()
			waitFor(t, d.file(lockName), i+1)
		}
		done = append(done, ended)
	}
	unlock()
	for _, ended := range done {
		must(t, <-ended)
	}
	if strings.Join(order, " ") != "first second third" {
		t.Errorf("the order was %q", order)
	}
}

// waitFor returns once n wait for the lock of a file.
func waitFor(t *testing.T, path string, n int) {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Stat(path, &st))
	inode := ":" + strconv.FormatUint(st.Ino, 10) + " "
	for deadline := soon(); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile("/proc/locks")
		must(t, err)
		waiting := 0
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, "->") && strings.Contains(line, inode) {
				waiting++
			}
		}
		if waiting == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d wait for %s, want %d:\n%s", waiting, path, n, b)
		}
	}
}

func TestALockThatIsReplacedUnderAWaiterIsTakenAnew(t *testing.T) {
	for name, write := range map[string]bool{"by a writer": true, "by a reader": false} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, someFiles())
			path := d.file(lockName)
			held := make(chan bool, 1)
			done := make(chan error, 1)
			unlock := locktest.HoldUntilWaiting(t, path, func() {
				c := waiter(d, write, func() { held <- !isFree(t, path) })
				go func() { done <- <-c }()
			}, done)
			must(t, os.Rename(path, path+".away"))
			must(t, os.WriteFile(path, nil, 0o750))
			unlock()
			must(t, <-done)
			if !<-held {
				t.Error("it had not the lock that is on disk")
			}
		})
	}
}

func TestADirectoryThatGoesUnderAWaiterHasNoLock(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, d *Dir)
	}{
		"removed":          {func(t *testing.T, d *Dir) { must(t, os.RemoveAll(d.path)) }},
		"moved away":       {func(t *testing.T, d *Dir) { must(t, os.Rename(d.path, d.path+".away")) }},
		"shut":             {func(t *testing.T, d *Dir) { must(t, At(d.path).Shut(tombstone(bootA))) }},
		"with its parent":  {func(t *testing.T, d *Dir) { must(t, os.RemoveAll(filepath.Dir(d.path))) }},
		"replaced by file": {func(t *testing.T, d *Dir) { must(t, os.RemoveAll(d.path)); must(t, os.WriteFile(d.path, nil, 0o600)) }},
	} {
		for name2, write := range map[string]bool{", a writer": true, ", a reader": false} {
			t.Run(name+name2, func(t *testing.T) {
				d := newDir(t, someFiles())
				done := make(chan error, 1)
				unlock := locktest.HoldUntilWaiting(t, d.file(lockName), func() {
					c := waiter(d, write, func() {})
					go func() { done <- <-c }()
				}, done)
				c.change(t, d)
				before := stateOf(t, d)
				unlock()
				if err := <-done; err != nil {
					t.Error(err)
				}
				if diff := diffState(before, stateOf(t, d)); diff != "" {
					t.Errorf("the waiter has changed something:\n%s", diff)
				}
			})
		}
	}
}
