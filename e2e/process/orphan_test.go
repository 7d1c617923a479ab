package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// callerGone is bolt-local's code for an ADD whose parent has died.
const callerGone = 105

// asChild makes a shell start its argument in the background, with its own
// stdin, and print the process id before anything that the child may print.
const asChild = `exec 3<&0; "$0" <&3 & echo $!; wait`

// A runtime that was killed sends its DEL after it has come up again. What an
// ADD of the old one allocates after that would be held by nobody.
func TestAnADDThatLosesItsParentWhileItWaitsAllocatesNothing(t *testing.T) {
	binary := testenv.Binary(t, lab.BoltLocal)
	for _, c := range []struct {
		name       string
		used       bool // the data directory has a checkpoint
		parentDies bool
	}{
		{"the parent dies, and there is no checkpoint yet", false, true},
		{"the parent dies, and there is a checkpoint", true, true},
		{"the parent lives", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := network{name: "orphan", subnet: "10.95.0.0/24", dataDir: newDataDir(t), binary: binary}
			if c.used {
				n.add(t, "before")
				n.run(t, n.call("DEL", "before"))
			}
			call := n.call("ADD", "pod")
			unlock := n.lock(t)
			waiting := startChild(t, call, binary)
			n.awaitLockOpen(t, waiting.pid)
			if c.parentDies {
				waiting.killParent(t)
			}
			unlock()
			answer := waiting.answer(t)

			held := n.dump(t)
			if !c.parentDies {
				want := map[string]netip.Addr{"pod": testenv.Address(t, lab.Reply{Stdout: answer})}
				if !maps.Equal(held, want) {
					t.Errorf("dump shows %v, but the answer was %s", held, answer)
				}
				return
			}
			reply := lab.Reply{Stdout: answer, ExitCode: 1} // nobody is left to see its exit code
			if reply.ErrorCode() != callerGone {
				t.Errorf("the answer has code %d, want %d: %s", reply.ErrorCode(), callerGone, answer)
			}
			if len(held) > 0 {
				t.Errorf("dump shows %v, want nothing", held)
			}
			n.expectHeld(t, map[string]netip.Addr{"pod": n.add(t, "pod")})
		})
	}
}

// lock takes the lock of the data directory, as a call does that is in its
// transaction.
func (n network) lock(t *testing.T) (unlock func()) {
	t.Helper()
	if err := os.MkdirAll(n.dataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(n.lockFile(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // closed twice if all went well
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { _ = f.Close() }
}

func (n network) lockFile() string { return filepath.Join(n.dataDir, "lock") }

// awaitLockOpen waits until the process has the lock file open. While another
// holds the lock, it then waits for that.
func (n network) awaitLockOpen(t *testing.T, pid int) {
	t.Helper()
	lock, err := os.Stat(n.lockFile())
	if err != nil {
		t.Fatal(err)
	}
	fds := fmt.Sprintf("/proc/%d/fd", pid)
	for t.Context().Err() == nil {
		entries, err := os.ReadDir(fds)
		if err != nil {
			t.Fatalf("the call has not waited for the lock: %v", err)
		}
		for _, e := range entries {
			if open, err := os.Stat(filepath.Join(fds, e.Name())); err == nil && os.SameFile(open, lock) {
				return
			}
		}
		runtime.Gosched()
	}
}

// child is a plugin whose parent is another process of the test's.
type child struct {
	parent *exec.Cmd
	pid    int
	stdout *bufio.Reader // of the plugin
}

func startChild(t *testing.T, call lab.Call, binary string) child {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	parent := exec.CommandContext(t.Context(), "sh", "-c", asChild, binary)
	parent.Env = call.Env()
	parent.Stdin = bytes.NewReader(call.Config)
	parent.Stdout = w
	err = parent.Start()
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = parent.Process.Kill()
		_ = parent.Wait() // an error if it has been waited for
	})
	stdout := bufio.NewReader(r)
	line, err := stdout.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the shell printed no process id: %v", err)
	}
	return child{parent: parent, pid: pid, stdout: stdout}
}

// killParent returns when the parent is gone, and the plugin has another one.
func (c child) killParent(t *testing.T) {
	t.Helper()
	if err := c.parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.parent.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
}

// answer is all that the plugin prints. It ends when the plugin does.
func (c child) answer(t *testing.T) []byte {
	t.Helper()
	out, err := io.ReadAll(c.stdout)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
