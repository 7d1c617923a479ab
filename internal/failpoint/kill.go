//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// What the environment asks of a binary built with the tag failpoints.
const (
	// PointEnv is "<name>" or "<name>#<n>": SIGKILL at the n-th passing of that
	// point, the first without n.
	PointEnv = "BOLT_LOCAL_FAILPOINT"
	// TraceEnv is a file to which the name of each point is appended as a line,
	// before it kills.
	TraceEnv = "BOLT_LOCAL_FAILPOINT_TRACE"
)

// usageExit is the exit status of a process that cannot do what was asked: a
// test must not take it for one that passed no point.
const usageExit = 125

func init() {
	point, trace := os.Getenv(PointEnv), os.Getenv(TraceEnv)
	if point == "" && trace == "" {
		return
	}
	k := killer{trace: trace}
	var err error
	if k.name, k.left, err = parsePoint(point); err != nil {
		fail(err)
	}
	Hook = k.pass
}

// parsePoint takes the value of PointEnv apart.
func parsePoint(s string) (name string, nth int, err error) {
	name, n, numbered := strings.Cut(s, "#")
	if !numbered {
		return name, 1, nil
	}
	if nth, err = strconv.Atoi(n); err != nil || nth < 1 {
		return "", 0, fmt.Errorf("%s=%s: %q is not a number from 1 on", PointEnv, s, n)
	}
	return name, nth, nil
}

type killer struct {
	mu    sync.Mutex
	name  string
	left  int // passings of name until it kills
	trace string
}

func (k *killer) pass(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.trace != "" {
		if err := appendLine(k.trace, name); err != nil {
			fail(fmt.Errorf("%s: %w", TraceEnv, err))
		}
	}
	if name != k.name {
		return
	}
	if k.left--; k.left == 0 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			fail(err)
		}
		select {} // no step beyond the point until the signal is there
	}
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "failpoint: %v\n", err)
	os.Exit(usageExit)
}
