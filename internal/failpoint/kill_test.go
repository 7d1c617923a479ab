//go:build failpoints

package failpoint

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// childEnv makes this test binary a process that passes a few points.
const childEnv = "BOLT_LOCAL_FAILPOINT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	for _, name := range []string{"a", "b", "a", "c"} {
		Hit(name)
		fmt.Println(name) // only what is passed is printed
	}
}

// run passes the points in a child and returns what it printed and traced.
func run(t *testing.T, point, trace string) (printed, traced []string, stderr string, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"=1", PointEnv+"="+point, TraceEnv+"="+trace)
	var errText strings.Builder
	cmd.Stderr = &errText
	out, err := cmd.Output()
	b, readErr := os.ReadFile(trace)
	if readErr != nil && trace != "" && !errors.Is(readErr, os.ErrNotExist) {
		t.Fatal(readErr)
	}
	return strings.Fields(string(out)), strings.Fields(string(b)), errText.String(), err
}

func TestTheNamedPointKills(t *testing.T) {
	for point, c := range map[string]struct {
		printed, traced []string
		lives           bool
	}{
		"a":         {nil, []string{"a"}, false},
		"b":         {[]string{"a"}, []string{"a", "b"}, false},
		"a#1":       {nil, []string{"a"}, false},
		"a#2":       {[]string{"a", "b"}, []string{"a", "b", "a"}, false},
		"c":         {[]string{"a", "b", "a"}, []string{"a", "b", "a", "c"}, false},
		"a#3":       {[]string{"a", "b", "a", "c"}, []string{"a", "b", "a", "c"}, true},
		"elsewhere": {[]string{"a", "b", "a", "c"}, []string{"a", "b", "a", "c"}, true},
		"":          {[]string{"a", "b", "a", "c"}, []string{"a", "b", "a", "c"}, true},
	} {
		t.Run(point, func(t *testing.T) {
			printed, traced, stderr, err := run(t, point, filepath.Join(t.TempDir(), "trace"))
			var exit *exec.ExitError
			switch {
			case c.lives && err != nil:
				t.Errorf("it ended with %v: %s", err, stderr)
			case !c.lives && (!errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL):
				t.Errorf("it ended with %v, want SIGKILL: %s", err, stderr)
			}
			if !slices.Equal(printed, c.printed) {
				t.Errorf("it went on past %q, want %q", printed, c.printed)
			}
			if !slices.Equal(traced, c.traced) {
				t.Errorf("trace %q, want %q", traced, c.traced)
			}
		})
	}
}

func TestWithoutATraceItKillsAllTheSame(t *testing.T) {
	printed, _, _, err := run(t, "b", "")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || !slices.Equal(printed, []string{"a"}) {
		t.Errorf("printed %q, err %v", printed, err)
	}
}

func TestWhatCannotBeDoneIsSaid(t *testing.T) {
	for name, c := range map[string]struct{ point, trace, want string }{
		"no number":       {"a#x", "", `"x" is not a number`},
		"zero":            {"a#0", "", `"0" is not a number`},
		"an empty number": {"a#", "", `"" is not a number`},
		"no trace file":   {"", "/nonexistent/trace", TraceEnv},
	} {
		t.Run(name, func(t *testing.T) {
			printed, _, stderr, err := run(t, c.point, c.trace)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != usageExit || len(printed) != 0 || !strings.Contains(stderr, c.want) {
				t.Errorf("printed %q, err %v, stderr %q", printed, err, stderr)
			}
		})
	}
}
