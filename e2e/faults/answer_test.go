package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/e2e/trace"
)

// expectAnswer checks the form of the answer, and whether the fault may fail the
// call at all.
func (a aftermath) expectAnswer(t *testing.T) {
	t.Helper()
	o := a.outcome
	for _, sign := range []string{"goroutine ", "panic", "fatal error", "runtime.", "SIGSEGV", "please report it"} {
		if bytes.Contains(o.Stderr, []byte(sign)) || bytes.Contains(o.Stdout, []byte(sign)) {
			t.Errorf("there is a Go trace: %s", said(o))
			break
		}
	}
	if o.Signal != 0 {
		t.Errorf("it ended by signal %v", o.Signal)
	}
	t.Log(said(o))
	if !a.failed {
		a.expectSuccess(t, o)
		return
	}
	text := a.errorText(t, o)
	if !strings.Contains(text, a.root) && !strings.Contains(text, bootIDFile) {
		t.Errorf("the error names no file below %s: %s", a.root, text)
	}
	if why := reason(a.fault); !strings.Contains(text, why) {
		t.Errorf("the error does not say why, %q: %s", why, text)
	}
	if a.frees != nil && strings.HasPrefix(a.fault.how, "a full disk") {
		t.Errorf("a full disk stops %s: %s", a.verb, text)
	}
}

// reason is how the fault has to appear in an error.
func reason(x fault) string {
	if x.Errno != 0 {
		return x.Errno.Error()
	}
	return unix.ENOSPC.Error() // after the short write
}

// expectSuccess checks what a call prints that succeeds.
func (f faulty) expectSuccess(t *testing.T, o trace.Outcome) {
	t.Helper()
	switch {
	case f.verb == "ADD":
		if _, err := reply(o).Result(); err != nil {
			t.Error(err)
		}
	case f.verb != "" && len(o.Stdout) > 0:
		t.Errorf("%s prints %q", f.verb, o.Stdout)
	}
}

// errorText is what a call says that failed: a plugin in its JSON, the command
// line on stderr.
func (f faulty) errorText(t *testing.T, o trace.Outcome) string {
	t.Helper()
	if f.command != nil {
		return string(o.Stderr)
	}
	var e types.Error
	if err := json.Unmarshal(o.Stdout, &e); err != nil || e.Code == 0 || e.Msg == "" {
		t.Errorf("no CNI error but stdout %q, stderr %q", o.Stdout, o.Stderr)
		return ""
	}
	switch e.Code {
	case types.ErrIOFailure, types.ErrTryAgainLater, 50:
	default:
		if e.Code < 100 {
			t.Errorf("the code is %d: %s", e.Code, e.Msg)
		}
	}
	text := e.Msg + " " + e.Details
	if strings.Contains(text, "not found") { // go-cni takes it for success of a DEL
		t.Errorf("the error says %q: %s", "not found", text)
	}
	return text
}

// expectNoSecondSync checks that what could not be synced is not synced again,
// unless it was written again: the kernel reports lost data once.
func (n network) expectNoSecondSync(t *testing.T, calls []trace.Call) {
	t.Helper()
	lost := map[string]trace.Call{} // by path
	for _, c := range calls {
		switch c.Name {
		case "fsync", "fdatasync":
			if first, ok := lost[c.Path]; ok {
				t.Errorf("%s of %s failed with %v, and then was made again", first.Name, n.file(&first), first.Errno)
			}
			if c.Errno != 0 && c.Errno != unix.EINTR {
				lost[c.Path] = c
			}
		case "write", "pwrite64":
			delete(lost, c.Path)
		case "openat", "linkat", "mkdirat", "renameat", "renameat2", "unlinkat": // write the directory
			if c.Name == "openat" && !makesFile(&c) {
				continue
			}
			delete(lost, filepath.Dir(c.Path))
			delete(lost, filepath.Dir(c.NewPath))
		}
	}
}

// said is the whole answer, for messages.
func said(o trace.Outcome) string {
	return fmt.Sprintf("status %d, stdout %s, stderr %s", o.ExitCode, o.Stdout, o.Stderr)
}
