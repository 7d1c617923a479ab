package cri

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// roundsLimit is how long an agent that serves may take to get somewhere: its
// rounds are short here, and a runtime that is late is asked again in seconds.
const roundsLimit = time.Minute

// server is an agent that serves.
type server struct {
	cmd *exec.Cmd
	url string // without a path
}

// serve starts an agent; what more says counts.
func (n plainNode) serve(t *testing.T, endpoint string, more ...string) *server {
	t.Helper()
	args := []string{"serve", "--listen", "127.0.0.1:0",
		"--data-dir", n.dataDir, "--conf-dir", n.confDir, "--cni-cache-dir", n.cacheDir, "--runtime-endpoint", endpoint,
		"--interval", "100ms", "--grace", "0", "--confirm-after", "10ms", "--timeout", "1s"}
	s := &server{cmd: exec.Command(testenv.Binary(t, lab.Agent), append(args, more...)...)}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s.cmd.Stdout
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended
		_ = s.cmd.Wait()
	})
	lines := bufio.NewReader(out)
	for s.url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the agent does not say where it serves: %v", err)
		}
		if _, rest, found := strings.Cut(line, "http://"); found {
			host, _, _ := strings.Cut(rest, "/")
			s.url = "http://" + host
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // until it ends
	return s
}

// get returns the answer's text, and an error if its status is not 200.
func (s *server) get(t *testing.T, path string) (text string, err error) {
	t.Helper()
	resp, err := http.Get(s.url + path)
	if err != nil {
		t.Fatalf("the agent does not serve: %v", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, resp.Status, body)
	}
	return string(body), err
}

func (n plainNode) waitUntilFreed(t *testing.T, containerID string) {
	t.Helper()
	eventually(t, roundsLimit, containerID+" holds nothing any more", func() error {
		if all := n.holders(t); all[containerID] != "" {
			return fmt.Errorf("held are %v", all)
		}
		return nil
	})
}

func TestServeWaitsForTheRuntimeOfANodeThatStarts(t *testing.T) {
	n := newPlainNode(t)
	n.add(t, "gone")
	endpoint := newEndpoint(t)
	s := n.serve(t, endpoint)
	if _, err := s.get(t, "/healthz"); err == nil {
		t.Error("the agent is healthy without a runtime")
	}
	f := (&fakeRuntime{sandboxes: sandboxes(3)}).serveAt(t, endpoint)
	eventually(t, roundsLimit, "the agent is healthy", func() error {
		_, err := s.get(t, "/healthz")
		return err
	})
	n.waitUntilFreed(t, "gone")
	expectAll(t, n, f.sandboxes)

	metrics, err := s.get(t, "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"bolt_local_up 1",
		`bolt_local_agent_freed_total{reason="unknown-to-runtime"} 1`,
	} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("the metrics lack %s:\n%s", line, metrics)
		}
	}
	if err := s.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the agent was told to end, and ended with: %v", err)
	}
}

// A round takes as long as --confirm-after, in which the agent is not well yet.
func TestInTheFirstRoundTheRuntimeHasAnswered(t *testing.T) {
	n := newPlainNode(t)
	n.add(t, "gone")
	s := n.serve(t, (&fakeRuntime{sandboxes: sandboxes(1)}).serve(t).endpoint, "--confirm-after", "1h")
	eventually(t, roundsLimit, "the agent is in its first round", func() error {
		if _, err := s.get(t, "/healthz"); err == nil || !strings.Contains(err.Error(), "the first round is not over yet") {
			return fmt.Errorf("it says %v", err)
		}
		return nil
	})
}

func TestServeGoesOnToGCBesideASandboxThatStaysBroken(t *testing.T) {
	n := newPlainNode(t)
	n.add(t, "gone")
	f := &fakeRuntime{sandboxes: sandboxes(3)}
	f.sandboxes[1].err = status.Error(codes.Unknown, "failed to get network info")
	n.serve(t, f.serve(t).endpoint)
	n.waitUntilFreed(t, "gone")
}

// The address of a running pod is recorded for one that is gone: what is
// recorded wins, as long as it is there.
func TestServeRecordsARunningPodOnceTheConflictIsGone(t *testing.T) {
	n := newPlainNode(t)
	n.add(t, "gone")
	f := &fakeRuntime{sandboxes: sandboxes(1)}
	f.sandboxes[0].ip = n.holders(t)["gone"]
	n.serve(t, f.serve(t).endpoint)
	n.waitUntilFreed(t, "gone")
	eventually(t, roundsLimit, "the running pod is recorded", func() error {
		if all := n.holders(t); all[f.sandboxes[0].id] == "" {
			return fmt.Errorf("held are %v", all)
		}
		return nil
	})
}

func TestServeGoesOnToGCWhereBackfillGetsNoAnswer(t *testing.T) {
	for name, breakIt := range map[string]func(f *fakeRuntime){
		"sandboxes hang": func(f *fakeRuntime) {
			hangs := map[string]bool{}
			for _, s := range f.sandboxes[:12] { // more than are asked for at once
				hangs[s.id] = true
			}
			f.onStatus = func(ctx context.Context, call int64, id string) error {
				if !hangs[id] {
					return nil
				}
				err := hang(ctx, call)
				time.Sleep(100 * time.Millisecond) // its answer would come before the agent gives up
				return err
			}
		},
		"the list after the sandboxes fails": func(f *fakeRuntime) {
			var asked atomic.Bool
			f.onStatus = func(context.Context, int64, string) error {
				asked.Store(true)
				return nil
			}
			f.onList = func(context.Context, int64) error {
				if asked.Swap(false) {
					return status.Error(codes.Internal, "no list today")
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newPlainNode(t)
			n.add(t, "gone")
			f := &fakeRuntime{sandboxes: sandboxes(20)}
			breakIt(f)
			n.serve(t, f.serve(t).endpoint)
			n.waitUntilFreed(t, "gone")
		})
	}
}
