package trace

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFaults(t *testing.T) {
	fails := func(errno syscall.Errno) Effect { return Effect{Errno: errno} }
	full := func(c *Call) Effect {
		if c.Name == "write" && isFile(c) {
			return fails(unix.ENOSPC)
		}
		return Effect{}
	}
	for name, c := range map[string]struct {
		call  string
		fault Fault

		file   string   // what is in it, "" if it is not there
		exit   int      // of the process
		error  string   // that it prints
		writes []string // their data as it is taken
	}{
		"a call that fails is not executed": {
			call:  "openat",
			fault: Fault{Nth: 1, Effect: fails(unix.EACCES)},
			exit:  3, error: "permission denied",
		},
		"a write that fails writes nothing": {
			call:  "write",
			fault: Fault{Nth: 1, Effect: fails(unix.EIO)},
			exit:  3, error: "input/output error",
		},
		"a call that is executed and fails": {
			call:  "write",
			fault: Fault{Nth: 1, Effect: Effect{Errno: unix.EIO, Executed: true}},
			file:  "0123456789", exit: 3, error: "input/output error",
		},
		"only the nth call fails": {
			call:  "write",
			fault: Fault{Nth: 2, Effect: fails(unix.EIO)},
			file:  "0123456789", writes: []string{"0123456789"},
		},
		"an interrupted call is made again": {
			call:  "write",
			fault: Fault{Nth: 1, Effect: fails(unix.EINTR)},
			file:  "0123456789", writes: []string{"", "0123456789"},
		},
		"a short write is carried on": {
			call:  "write",
			fault: Fault{Nth: 1, Effect: Effect{Short: 4}},
			file:  "0123456789", writes: []string{"0123", "456789"},
		},
		"a write that is shorter by itself is as it is": {
			call:  "write",
			fault: Fault{Nth: 1, Effect: Effect{Short: 10}},
			file:  "0123456789", writes: []string{"0123456789"},
		},
		"a disk that is full after a short write": {
			call:  "write",
			fault: Fault{Nth: 1, Effect: Effect{Short: 4}, Later: full},
			file:  "0123", exit: 3, error: "no space left on device", writes: []string{"0123", ""},
		},
		"all later calls may fail as well": {
			call:  "write",
			fault: Fault{Nth: 1, Effect: fails(unix.EINTR), Later: full},
			exit:  3, error: "no space left on device", writes: []string{"", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.fault.Match = func(call *Call) bool { return call.Name == c.call && isFile(call) }
			dir, o := child(t, "write", c.fault.Hook())
			if o.ExitCode != c.exit || !strings.Contains(string(o.Stderr), c.error) {
				t.Errorf("status %d, stderr %q, want %d and %q", o.ExitCode, o.Stderr, c.exit, c.error)
			}
			if data, err := os.ReadFile(filepath.Join(dir, "file")); string(data) != c.file {
				t.Errorf("the file has %q (%v), want %q", data, err, c.file)
			}
			expectWrites(t, o, c.writes)
		})
	}
}

// expectWrites checks what was taken of each write to the file.
func expectWrites(t *testing.T, o Outcome, want []string) {
	t.Helper()
	if want == nil {
		return
	}
	var got []string
	for _, c := range o.Calls {
		if c.Name == "write" && isFile(&c) {
			got = append(got, string(c.Data[:c.Result]))
			if c.Errno != 0 && !c.Injected {
				t.Errorf("a write failed by itself: %v", c.Errno)
			}
		}
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("taken were %q, want %q", got, want)
	}
}

// isFile tells whether a call is on the file that the child writes.
func isFile(c *Call) bool { return filepath.Base(c.Path) == "file" }
