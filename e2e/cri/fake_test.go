package cri

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// scheme begins the address of a runtime.
const scheme = "unix://"

// fakeRuntime is a runtime that answers what a test wants it to.
type fakeRuntime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	endpoint  string
	server    *grpc.Server
	sandboxes []fakeSandbox

	// onList and onStatus, if set, may fail, or wait, before an answer; the
	// number of the call counts from 1.
	onList   func(ctx context.Context, call int64) error
	onStatus func(ctx context.Context, call int64, id string) error

	lists, statuses atomic.Int64
}

type fakeSandbox struct {
	id, ip string
	err    error  // the answer to its status, if set
	info   string // the verbose info, if not that of containerd 1.6
}

// serve starts the runtime on a socket of its own.
func (f *fakeRuntime) serve(t *testing.T) *fakeRuntime {
	t.Helper()
	return f.serveAt(t, newEndpoint(t))
}

func (f *fakeRuntime) serveAt(t *testing.T, endpoint string) *fakeRuntime {
	t.Helper()
	listener := listen(t, endpoint)
	f.endpoint, f.server = endpoint, grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(f.server, f)
	ended := make(chan error, 1)
	go func() { ended <- f.server.Serve(listener) }()
	t.Cleanup(func() {
		f.server.Stop()
		if err := <-ended; err != nil {
			t.Errorf("the fake runtime: %v", err)
		}
	})
	return f
}

// newEndpoint names a socket where nobody listens yet.
func newEndpoint(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cri-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return scheme + filepath.Join(dir, "cri.sock")
}

func listen(t *testing.T, endpoint string) net.Listener {
	t.Helper()
	listener, err := net.Listen("unix", strings.TrimPrefix(endpoint, scheme))
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// Version answers as containerd does.
func (f *fakeRuntime) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{
		Version: "0.1.0", RuntimeName: "containerd", RuntimeVersion: "v1.6.20", RuntimeApiVersion: "v1",
	}, nil
}

// ListPodSandbox answers with all sandboxes.
func (f *fakeRuntime) ListPodSandbox(ctx context.Context, _ *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	if call := f.lists.Add(1); f.onList != nil {
		if err := f.onList(ctx, call); err != nil {
			return nil, err
		}
	}
	resp := &runtimeapi.ListPodSandboxResponse{}
	for _, s := range f.sandboxes {
		resp.Items = append(resp.Items, &runtimeapi.PodSandbox{
			Id: s.id, Metadata: s.metadata(), State: runtimeapi.PodSandboxState_SANDBOX_READY,
			Annotations: map[string]string{"kubernetes.io/config.source": "api"},
		})
	}
	return resp, nil
}

// PodSandboxStatus answers for one sandbox.
func (f *fakeRuntime) PodSandboxStatus(ctx context.Context, req *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	if call := f.statuses.Add(1); f.onStatus != nil {
		if err := f.onStatus(ctx, call, req.GetPodSandboxId()); err != nil {
			return nil, err
		}
	}
	for _, s := range f.sandboxes {
		if s.id == req.GetPodSandboxId() {
			return s.status()
		}
	}
	return nil, status.Errorf(codes.NotFound, "no sandbox %s", req.GetPodSandboxId())
}

func (s fakeSandbox) metadata() *runtimeapi.PodSandboxMetadata {
	return &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: "uid-of-" + s.id}
}

func (s fakeSandbox) status() (*runtimeapi.PodSandboxStatusResponse, error) {
	if s.err != nil {
		return nil, s.err
	}
	info := s.info
	if info == "" {
		info = fmt.Sprintf(`{"pid":1,"processStatus":"running","netNamespaceClosed":false,"cniResult":{"Interfaces":{`+
			`"eth0":{"IPConfigs":[{"IP":%q,"Gateway":"10.0.0.1"}],"Mac":"","Sandbox":"/var/run/netns/cni-%s"}}}}`, s.ip, s.id)
	}
	return &runtimeapi.PodSandboxStatusResponse{
		Status: &runtimeapi.PodSandboxStatus{
			Id: s.id, Metadata: s.metadata(), State: runtimeapi.PodSandboxState_SANDBOX_READY,
			Network: &runtimeapi.PodSandboxNetworkStatus{Ip: s.ip},
			Linux: &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{
				Options: &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_POD},
			}},
		},
		Info: map[string]string{"info": info},
	}, nil
}

// hang answers when the caller has given up.
func hang(ctx context.Context, _ int64) error {
	<-ctx.Done()
	return ctx.Err()
}

// die ends the runtime instead of an answer.
func (f *fakeRuntime) die(ctx context.Context, _ int64) error {
	go f.server.Stop() // it waits for this call
	<-ctx.Done()
	return ctx.Err()
}
