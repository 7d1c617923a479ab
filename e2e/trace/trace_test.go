package trace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a child may take that does not hang.
const patience = time.Minute

// noSleep: with the race detector, a process would sleep for a second at its end.
const noSleep = "GORACE=atexit_sleep_ms=0"

// child traces this test binary as one of the children, in a new directory.
func child(t *testing.T, name string, hook Hook) (dir string, o Outcome) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir = t.TempDir()
	return dir, run(t, ctx, name, dir, hook)
}

func run(t *testing.T, ctx context.Context, name, dir string, hook Hook) Outcome {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o, err := Run(ctx, Process{
		Path:  self,
		Args:  []string{dir},
		Env:   []string{childVariable + "=" + name, noSleep},
		Stdin: []byte("hello"),
	}, hook)
	if errors.Is(err, ErrUnavailable) {
		fmt.Fprintf(os.Stderr, "SKIPPED: %s: %v\n", t.Name(), err)
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// expectSuccess checks that the child has ended well.
func expectSuccess(t *testing.T, o Outcome) {
	t.Helper()
	if o.ExitCode != 0 || o.TimedOut {
		t.Fatalf("the child ended with %d, signal %v, timed out %v: %s", o.ExitCode, o.Signal, o.TimedOut, o.Stderr)
	}
}

func TestCallsAreRecordedInOrderWithWhatTheyDo(t *testing.T) {
	dir, o := child(t, "steps", nil)
	expectSuccess(t, o)
	var got []string
	for _, c := range o.Calls {
		if line := describe(dir, c); line != "" {
			got = append(got, line)
		}
	}
	want := []string{
		"openat log flags 02102 mode 640",
		`write log at 0: "one\n"`,
		`write log at 4: "two\n"`,
		`pwritev log at 100: "three"`,
		"fallocate log at 0 length 4096 flags 1",
		"fdatasync log",
		"ftruncate log length 7",
		"fchmod log mode 600",
		"openat . flags 020200001 mode 600",
		`pwrite64 a file without a name at 3: "whole"`,
		"linkat a file without a name to linked flags 02000",
		"openat . flags 0200000 mode 0",
		"mkdirat sub mode 700",
		"renameat2 linked to sub flags 02",
		"renameat sub to renamed",
		"unlinkat renamed flags 0",
		"fsync .",
		"unlinkat linked flags 01000",
	}
	for i := range max(len(got), len(want)) {
		g, w := at(got, i), at(want, i)
		if g != w {
			t.Errorf("call %d is\n%s\nwant\n%s", i, g, w)
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

// describe is a line for a call that changes files in dir, or "".
func describe(dir string, c Call) string {
	if !strings.HasPrefix(c.Path, dir) && !strings.HasPrefix(c.NewPath, dir) {
		return ""
	}
	name := func(path string) string {
		if strings.HasSuffix(path, " (deleted)") || strings.HasPrefix(path, "/proc/self/fd/") {
			return "a file without a name"
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return path
		}
		return relative
	}
	line := c.Name + " " + name(c.Path)
	switch c.Name {
	case "openat":
		return fmt.Sprintf("%s flags %#o mode %o", line, c.Flags&^unix.O_CLOEXEC, c.Mode)
	case "write", "pwrite64", "pwritev":
		return fmt.Sprintf("%s at %d: %q", line, c.Offset, c.Data)
	case "fallocate":
		return fmt.Sprintf("%s at %d length %d flags %d", line, c.Offset, c.Length, c.Flags)
	case "ftruncate":
		return fmt.Sprintf("%s length %d", line, c.Length)
	case "fchmod", "mkdirat":
		return fmt.Sprintf("%s mode %o", line, c.Mode)
	case "linkat", "renameat2":
		return fmt.Sprintf("%s to %s flags %#o", line, name(c.NewPath), c.Flags)
	case "renameat":
		return fmt.Sprintf("%s to %s", line, name(c.NewPath))
	case "unlinkat":
		return fmt.Sprintf("%s flags %#o", line, c.Flags)
	case "fsync", "fdatasync":
		return line
	}
	return ""
}

func TestAFileIsKnownByWhateverNameItHas(t *testing.T) {
	_, o := child(t, "steps", nil)
	expectSuccess(t, o)
	find := func(name string) Call {
		t.Helper()
		for _, c := range o.Calls {
			if c.Name == name {
				return c
			}
		}
		t.Fatalf("no %s was recorded", name)
		return Call{}
	}
	written, linked, swapped, removed := find("pwrite64"), find("linkat"), find("renameat2"), find("unlinkat")
	if written.File.Inode == 0 {
		t.Errorf("%s has no file", written.Name)
	}
	for _, c := range []Call{linked, swapped, removed} {
		if c.File != written.File {
			t.Errorf("%s is of %v, want %v, which was written", c.Name, c.File, written.File)
		}
	}
	if made := find("mkdirat"); made.File.Inode == 0 || made.File != swapped.NewFile {
		t.Errorf("mkdirat made %v, and the exchange was with %v", made.File, swapped.NewFile)
	}
	if linked.NewFile != (FileID{}) {
		t.Errorf("linkat found %v at its new name", linked.NewFile)
	}
}

func TestAllThreadsAreFollowed(t *testing.T) {
	dir, o := child(t, "threads", nil)
	expectSuccess(t, o)
	threads := map[int]bool{}
	for _, c := range o.Calls {
		if c.Name == "write" && strings.HasPrefix(c.Path, dir) {
			threads[c.Thread] = true
			if string(c.Data) != filepath.Base(c.Path) {
				t.Errorf("%s was written %q", c.Path, c.Data)
			}
		}
	}
	if len(threads) != threadCount {
		t.Errorf("%d threads wrote, want %d", len(threads), threadCount)
	}
}

func TestAProcessThatItStartsIsFollowed(t *testing.T) {
	dir, o := child(t, "starts", nil)
	expectSuccess(t, o)
	for _, c := range o.Calls {
		if c.Name == "write" && c.Path == filepath.Join(dir, "file") {
			return
		}
	}
	t.Error("what it wrote was not recorded")
}

func TestStandardFilesAndTheExitStatusAreThoseOfTheProcess(t *testing.T) {
	_, o := child(t, "echo", nil)
	if string(o.Stdout) != "out hello" || string(o.Stderr) != "err hello\n" || o.ExitCode != 3 || o.Signal != 0 {
		t.Errorf("stdout %q, stderr %q, status %d, signal %v", o.Stdout, o.Stderr, o.ExitCode, o.Signal)
	}
}

func TestASignalThatEndsTheProcessIsTold(t *testing.T) {
	_, o := child(t, "dies", nil)
	if o.Signal != unix.SIGKILL || o.ExitCode != -1 || o.TimedOut {
		t.Errorf("signal %v, status %d, timed out %v", o.Signal, o.ExitCode, o.TimedOut)
	}
}

func TestAProcessThatHangsIsKilledAndNothingIsLeft(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	pid := 0
	o := run(t, ctx, "hangs", t.TempDir(), func(c *Call) Effect {
		if pid == 0 {
			pid = c.Thread
		}
		return Effect{}
	})
	if !o.TimedOut || o.Signal != unix.SIGKILL {
		t.Errorf("timed out %v, signal %v", o.TimedOut, o.Signal)
	}
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("process %d is left: %v", pid, err)
	}
}

func TestACallThatASignalInterruptsIsRecordedOnce(t *testing.T) {
	asked := 0
	_, o := child(t, "locks", func(c *Call) Effect {
		if c.Name == "flock" {
			asked++
		}
		return Effect{}
	})
	expectSuccess(t, o)
	recorded := 0
	for _, c := range o.Calls {
		if c.Name == "flock" {
			recorded++
		}
	}
	if asked != 2 || recorded != 2 {
		t.Errorf("the hook was asked about %d flocks, %d were recorded, want 2", asked, recorded)
	}
}

func TestAProgramThatIsNotThereIsAnError(t *testing.T) {
	_, err := Run(t.Context(), Process{Path: filepath.Join(t.TempDir(), "nothing")}, nil)
	if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, ErrUnavailable) {
		t.Errorf("the error is %v", err)
	}
}
