package cri

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// backfill and gc run the agent as on most nodes: it finds the runtime, the
// checkpoint and the caches where they are by default. They return all that it
// says.
func (n *node) backfill(t *testing.T, args ...string) string {
	t.Helper()
	return agent(t, append([]string{"backfill", "--conf-dir", n.confDir}, args...)...)
}

// gcNow does not wait until an ADD cannot be in flight any more.
func gcNow(t *testing.T, args ...string) string {
	t.Helper()
	return agent(t, append([]string{"gc", "--grace", "0", "--confirm-after", "100ms"}, args...)...)
}

func agent(t *testing.T, args ...string) string {
	t.Helper()
	said, err := tryAgent(t, args...)
	if err != nil {
		t.Fatalf("bolt-local-agent %s: %v\n%s", strings.Join(args, " "), err, said)
	}
	t.Logf("bolt-local-agent %s:\n%s", strings.Join(args, " "), said)
	return said
}

// tryAgent returns an error if the agent says by its exit code that it failed.
func tryAgent(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), testenv.Binary(t, lab.Agent), args...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err
}

// expectSaid checks that each of the words is in what the agent said.
func expectSaid(t *testing.T, said string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("the agent does not speak of %q:\n%s", word, said)
		}
	}
}

func expectNoTrace(t *testing.T, said string) {
	t.Helper()
	if strings.Contains(said, "goroutine ") {
		t.Errorf("the agent ends with a trace:\n%s", said)
	}
}
