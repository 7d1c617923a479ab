package cri

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/bolt-local/bolt-local/migrate/backfill"
	"github.com/bolt-local/bolt-local/store/record"
)

// runtime answers as it is told to.
type runtime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	list   func() ([]*runtimeapi.PodSandbox, error)
	status func(ctx context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error)
	plain  func(ctx context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error) // not verbose; nil for an error
}

func (r runtime) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	items, err := r.list()
	return &runtimeapi.ListPodSandboxResponse{Items: items}, err
}

func (r runtime) PodSandboxStatus(ctx context.Context, q *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	switch {
	case q.Verbose:
		return r.status(ctx, q.PodSandboxId)
	case r.plain != nil:
		return r.plain(ctx, q.PodSandboxId)
	}
	return nil, status.Error(codes.InvalidArgument, "not verbose")
}

const testTimeout = 500 * time.Millisecond

func serve(t *testing.T, r runtime) (*Client, *grpc.Server) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "cri.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, r)
	go func() { _ = server.Serve(l) }() // Stop ends it
	t.Cleanup(server.Stop)
	c, err := Dial("unix://"+socket, testTimeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, server
}

func listing(ready ...string) func() ([]*runtimeapi.PodSandbox, error) {
	return func() (all []*runtimeapi.PodSandbox, _ error) {
		for _, id := range ready {
			all = append(all, &runtimeapi.PodSandbox{Id: id})
		}
		return all, nil
	}
}

func running(id, addr string, more ...string) *runtimeapi.PodSandboxStatusResponse {
	s := &runtimeapi.PodSandboxStatus{
		Id: id, CreatedAt: 5, Metadata: &runtimeapi.PodSandboxMetadata{Name: "pod-" + id, Namespace: "default", Uid: "uid-" + id},
		Network: &runtimeapi.PodSandboxNetworkStatus{Ip: addr},
	}
	for _, m := range more {
		s.Network.AdditionalIps = append(s.Network.AdditionalIps, &runtimeapi.PodIP{Ip: m})
	}
	return &runtimeapi.PodSandboxStatusResponse{Status: s}
}

// identify knows every namespace.
func identify(path string) record.NetNS {
	if path == "" {
		return record.NetNS{}
	}
	return record.NetNS{Path: path, Inode: 7, MountNS: 1}
}

func TestEachKindOfSandboxIsToldApart(t *testing.T) {
	first := []string{"broken", "gone", "host", "missing", "plain", "stops", "verbose"}
	lists := [][]string{first, slices.DeleteFunc(slices.Clone(first), func(id string) bool { return id == "gone" })}
	c, _ := serve(t, runtime{
		list: func() ([]*runtimeapi.PodSandbox, error) {
			all, _ := listing(lists[0]...)()
			lists = lists[1:]
			return append(all, &runtimeapi.PodSandbox{Id: "stopped", State: runtimeapi.PodSandboxState_SANDBOX_NOTREADY}), nil
		},
		status: func(_ context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error) {
			r := running(id, "10.0.0.5", "fd00::5")
			switch id {
			case "broken":
				return nil, status.Error(codes.Internal, "its state is lost")
			case "gone", "missing":
				return nil, status.Error(codes.NotFound, "no such sandbox")
			case "host":
				r.Status.Linux = &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{Options: &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_NODE}}}
			case "stops":
				r.Status.State = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
			case "verbose":
				r.Info = map[string]string{infoKey: `{"cniResult":{"Interfaces":{"eth0":{"IPConfigs":[{"IP":"10.0.0.5"}],"Sandbox":"/n"}}}}`}
			}
			return r, nil
		},
	})
	got, err := c.Sandboxes(t.Context(), identify)
	if err != nil {
		t.Fatal(err)
	}
	sandbox := func(id, ns string, interfaces ...backfill.Interface) backfill.Sandbox {
		return backfill.Sandbox{ID: id, NetNS: identify(ns), CreatedAt: time.Unix(0, 5), Interfaces: interfaces,
			Pod: record.Pod{Namespace: "default", Name: "pod-" + id, UID: "uid-" + id, InfraContainerID: id}}
	}
	want := Listing{
		Running: []backfill.Sandbox{
			sandbox("plain", "", iface("", "10.0.0.5", "fd00::5")),
			sandbox("verbose", "/n", iface("eth0", "10.0.0.5"), iface("", "fd00::5")),
		},
		NotReady: []string{"stopped", "gone", "stops"},
		Listed:   7,
	}
	if failed := errors.Join(got.Failed...); len(got.Failed) != 2 || !strings.Contains(failed.Error(), "broken: its state is lost") || !strings.Contains(failed.Error(), "missing: no such sandbox") {
		t.Errorf("failed: %v", failed)
	}
	got.Failed = nil
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("listing differs (-want +got):\n%s", diff)
	}
}

func TestASandboxIsAskedForOnceMoreWhereTheVerboseAnswerFails(t *testing.T) {
	c, _ := serve(t, runtime{
		list: listing("a", "b"),
		status: func(_ context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error) {
			return nil, status.Error(codes.NotFound, "no container "+id)
		},
		plain: func(_ context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error) {
			if id == "b" {
				return nil, status.Error(codes.Internal, "nor without")
			}
			return running(id, "10.0.0.5"), nil
		},
	})
	got, err := c.Sandboxes(t.Context(), identify)
	if err != nil || len(got.Running) != 1 || got.Running[0].Pod.Name != "pod-a" || len(got.Running[0].Interfaces) != 1 {
		t.Errorf("%+v run, %v", got.Running, err)
	}
	if len(got.Failed) != 1 || !strings.Contains(got.Failed[0].Error(), "asking for sandbox b: no container b") {
		t.Errorf("failed: %v", got.Failed)
	}
}

func TestASandboxThatIsStartedMeanwhileIsTold(t *testing.T) {
	lists := [][]string{{"a", "b"}, {"a", "new"}}
	c, _ := serve(t, runtime{
		list: func() ([]*runtimeapi.PodSandbox, error) {
			ids := lists[0]
			lists = lists[1:]
			return listing(ids...)()
		},
		status: func(_ context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error) {
			return running(id, "10.0.0.5"), nil
		},
	})
	got, err := c.Sandboxes(t.Context(), identify)
	if err != nil || len(got.Running) != 1 || got.Listed != 2 {
		t.Errorf("%d of %d run, %v", len(got.Running), got.Listed, err)
	}
	if diff := cmp.Diff([]string{"new"}, got.Started); diff != "" {
		t.Errorf("started differ (-want +got):\n%s", diff)
	}
}

func TestOfSandboxesThatAreNotReadyThoseThatAreThereAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		fails string
		plain string // fails with the verbose information alone
		want  string // a part of the error, "" for none
	}{
		"one was removed meanwhile":     {"gone", "", ""},
		"one that is there cannot be":   {"a", "", "asking for sandbox a: its state is lost"},
		"the namespace of one is not":   {"a", "a", "asking for sandbox a: its state is lost"},
		"nor that of one that has none": {"host", "host", ""},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := serve(t, runtime{
				list: listing("a", "b", "host"),
				status: func(_ context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error) {
					r := running(id, "10.0.0.5")
					r.Status.State = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
					r.Info = map[string]string{infoKey: `{"sandboxMetadata":{"Metadata":{"NetNSPath":"/n"}}}`}
					switch id {
					case c.fails:
						return nil, status.Error(codes.Internal, "its state is lost")
					case "host":
						r.Status.Linux = &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{Options: &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_NODE}}}
					}
					return r, nil
				},
				plain: func(_ context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error) {
					if id != c.plain {
						return nil, status.Error(codes.Internal, "nor without")
					}
					r := running(id, "10.0.0.5")
					if id == "host" {
						r.Status.Linux = &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{Options: &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_NODE}}}
					}
					return r, nil
				},
			})
			got, err := client.Unready(t.Context(), []string{"a", "b", "gone", "host"}, identify)
			if c.want != "" {
				if !errors.Is(err, ErrRuntime) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || len(got) != 2 || got[0].ID != "a" || got[0].NetNS != identify("/n") {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// Else a DEL after the last list would leave nothing to tell the pod's end by.
func TestANamespaceIsIdentifiedBeforeTheLastList(t *testing.T) {
	lists, identified := 0, 0
	c, _ := serve(t, runtime{
		list: func() ([]*runtimeapi.PodSandbox, error) {
			if lists++; lists == 2 && identified != 1 {
				t.Errorf("%d namespaces were identified before the last list", identified)
			}
			return listing("a")()
		},
		status: func(context.Context, string) (*runtimeapi.PodSandboxStatusResponse, error) {
			r := running("a", "10.0.0.5")
			r.Info = map[string]string{infoKey: `{"cniResult":{"Interfaces":{"eth0":{"IPConfigs":[{"IP":"10.0.0.5"}],"Sandbox":"/n"}}}}`}
			return r, nil
		},
	})
	got, err := c.Sandboxes(t.Context(), func(path string) record.NetNS {
		identified++
		return identify(path)
	})
	if err != nil || lists != 2 || len(got.Running) != 1 || got.Running[0].NetNS != identify("/n") {
		t.Errorf("of %d lists: %+v, %v", lists, got.Running, err)
	}
}

// never answers.
func never(ctx context.Context, _ string) (*runtimeapi.PodSandboxStatusResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestARuntimeThatDoesNotAnswerIsGivenUp(t *testing.T) {
	once := 0
	for name, c := range map[string]struct {
		runtime runtime
		want    string
	}{
		"it hangs at once": {runtime{list: func() ([]*runtimeapi.PodSandbox, error) { time.Sleep(2 * testTimeout); return nil, nil }}, "listing the pod sandboxes: no answer within 500ms"},
		"it hangs after its list": {runtime{list: func() ([]*runtimeapi.PodSandbox, error) {
			if once++; once > 1 {
				time.Sleep(2 * testTimeout)
			}
			return listing("a", "b", "c", "d")()
		}, status: never}, "listing the pod sandboxes: no answer within 500ms"},
		"it speaks another version": {runtime{list: func() ([]*runtimeapi.PodSandbox, error) {
			return nil, status.Error(codes.Unimplemented, "unknown service")
		}}, "does not speak CRI v1"},
		"a sandbox has no id": {runtime{list: listing("a", "")}, "one of 2 has no id"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := serve(t, c.runtime)
			_, err := client.Sandboxes(t.Context(), identify)
			if !errors.Is(err, ErrRuntime) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestARuntimeThatDiesMidwayIsGivenUp(t *testing.T) {
	var server *grpc.Server
	c, server := serve(t, runtime{
		list: listing("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"),
		status: func(_ context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error) {
			if id == "c" {
				go server.Stop()
			}
			time.Sleep(50 * time.Millisecond)
			return running(id, "10.0.0.5"), nil
		},
	})
	if l, err := c.Sandboxes(t.Context(), identify); !errors.Is(err, ErrRuntime) {
		t.Errorf("%d run, %v", len(l.Running), err)
	}
}

func TestOneSandboxThatHangsDoesNotHoldUpTheRest(t *testing.T) {
	c, _ := serve(t, runtime{
		list: listing("a", "hangs", "z"),
		status: func(ctx context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error) {
			if id == "hangs" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return running(id, "10.0.0.5"), nil
		},
	})
	got, err := c.Sandboxes(t.Context(), identify)
	if err != nil || len(got.Running) != 2 || len(got.Failed) != 1 {
		t.Errorf("%d run, %d failed, %v", len(got.Running), len(got.Failed), err)
	}
}

// One that lists its sandboxes is well: the shims of some are not.
func TestSandboxesThatHangHoldUpNoOther(t *testing.T) {
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint("hangs", i)
	}
	for name, c := range map[string]struct {
		ids     []string
		running int
		failed  int // at most: those that are asked meanwhile hang, too
		says    string
	}{
		"three of five":      {[]string{"a", "hangs1", "hangs2", "hangs3", "z"}, 2, 3, "asking for sandbox hangs1: no answer within 500ms"},
		"each of a thousand": {many, 0, 2*atOnce + 1, "of 1000 sandboxes, as 3 had no answer within 500ms"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := serve(t, runtime{
				list: listing(c.ids...),
				status: func(ctx context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error) {
					if strings.HasPrefix(id, "hangs") {
						return never(ctx, id)
					}
					return running(id, "10.0.0.5"), nil
				},
			})
			got, err := client.Sandboxes(t.Context(), identify)
			if err != nil || len(got.Running) != c.running || len(got.Failed) > c.failed {
				t.Fatalf("%d run, %d failed, %v", len(got.Running), len(got.Failed), err)
			}
			if err := errors.Join(got.Failed...); !errors.Is(err, ErrRuntime) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("failed: %v, want one with %q", err, c.says)
			}
		})
	}
}

// containerd answers with the codes of a runtime that is gone where a shim is.
func TestASandboxWhoseShimIsGoneHoldsUpNoOther(t *testing.T) {
	for _, code := range []codes.Code{codes.Unavailable, codes.DeadlineExceeded} {
		t.Run(code.String(), func(t *testing.T) {
			var lists atomic.Int64
			c, _ := serve(t, runtime{
				list: func() ([]*runtimeapi.PodSandbox, error) {
					lists.Add(1)
					return listing("a", "b", "c", "d", "z")()
				},
				status: func(_ context.Context, id string) (*runtimeapi.PodSandboxStatusResponse, error) {
					if id == "a" || id == "z" {
						return running(id, "10.0.0.5"), nil
					}
					return nil, status.Error(code, "the shim is gone")
				},
			})
			got, err := c.Sandboxes(t.Context(), identify)
			if err != nil || len(got.Running) != 2 || len(got.Failed) != 3 {
				t.Errorf("%d run, failed: %v, %v", len(got.Running), got.Failed, err)
			}
			if n := lists.Load(); n > 3 {
				t.Errorf("the runtime was asked for its list %d times: at the begin, once between, and at the end is enough", n)
			}
		})
	}
}
