package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/bolt-local/bolt-local/cmd/internal/command"
	"github.com/bolt-local/bolt-local/store"
)

// idle is a runtime without a sandbox.
type idle struct {
	runtimeapi.UnimplementedRuntimeServiceServer
}

func (idle) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	return &runtimeapi.ListPodSandboxResponse{}, nil
}

// node is one with an idle runtime, and podnet in its configurations.
type node struct{ dataDir, confDir, socket string }

func newNode(t *testing.T) node {
	t.Helper()
	dir := t.TempDir()
	n := node{filepath.Join(dir, "data"), filepath.Join(dir, "conf"), filepath.Join(dir, "cri.sock")}
	for _, d := range []string{n.dataDir, n.confDir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	conf := fmt.Sprintf(`{"cniVersion":"1.0.0","name":"podnet","type":"ptp","ipam":{"type":"bolt-local","subnet":"10.1.0.0/24","dataDir":%q,"cniCacheDirs":[%q]}}`, n.dataDir, filepath.Join(dir, "cache"))
	if err := os.WriteFile(filepath.Join(n.confDir, "10-podnet.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", n.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, idle{})
	go func() { _ = server.Serve(l) }() // Stop ends it
	t.Cleanup(server.Stop)
	return n
}

// damaged leaves a checkpoint of which nothing can be read.
func (n node) damaged(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(n.dataDir, store.CheckpointFile), []byte(strings.Repeat("{}\n", 4000)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (n node) run(words ...string) (status int, stdout, stderr string) {
	var out, errs strings.Builder
	status = Main("v1", append(words, "--data-dir", n.dataDir, "--conf-dir", n.confDir, "--runtime-endpoint", n.socket), &out, &errs)
	return status, out.String(), errs.String()
}

func TestABackfillFailsWhereADDStaysRefused(t *testing.T) {
	for name, words := range map[string][]string{"a backfill": {"backfill"}, "a dry run": {"backfill", "--dry-run"}} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			if status, _, stderr := n.run(words...); status != command.OK {
				t.Errorf("with nothing lost: exit status %d: %s", status, stderr)
			}
			n.damaged(t)
			status, stdout, stderr := n.run(words...)
			if status != command.Failed || !strings.Contains(stderr, "lists no sandbox at all") || !strings.HasSuffix(stderr, "bolt-local-agent: ADD stays refused\n") {
				t.Errorf("exit status %d: %s", status, stderr)
			}
			if !strings.Contains(stdout, "0 in conflict.\n") {
				t.Errorf("stdout: %s", stdout)
			}
		})
	}
}

func TestABackfillThatFailsAtOnceSumsNothingUp(t *testing.T) {
	status, stdout, stderr := newNode(t).run("backfill", "--network", "typo")
	if status != command.Failed || stdout != "" || !strings.Contains(stderr, "network typo is neither stored") {
		t.Errorf("exit status %d, %q, %s", status, stdout, stderr)
	}
}

func TestWhatABackfillLeavesToAPersonIsItsError(t *testing.T) {
	for want, f := range map[string]filled{
		"":                         {},
		"1 address is in conflict": {conflicts: 1},
		"ADD stays refused":        {refused: true},
		"2 addresses are in conflict\nADD stays refused": {conflicts: 2, refused: true},
	} {
		got := ""
		if err := f.err(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
}
