package cri

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxAnswer bounds an answer in bytes. The kubelet takes 16 MiB, which is some
// ten thousand sandboxes with many labels.
const maxAnswer = 16 << 20

// Client asks one runtime.
type Client struct {
	endpoint string
	timeout  time.Duration
	conn     *grpc.ClientConn
	runtime  runtimeapi.RuntimeServiceClient
}

// Dial returns a client for a runtime's socket, as Endpoint returns it. It does
// not connect yet. timeout bounds each call.
func Dial(endpoint string, timeout time.Duration) (*Client, error) {
	path := strings.TrimPrefix(endpoint, "unix://")
	conn, err := grpc.NewClient("passthrough:///runtime", // gRPC would parse a path with a '%' as a URL
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // a socket that root alone can open
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
	)
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrRuntime, endpoint, err)
	}
	return &Client{endpoint: endpoint, timeout: timeout, conn: conn, runtime: runtimeapi.NewRuntimeServiceClient(conn)}, nil
}

// Endpoint is the runtime's socket, as a URL.
func (c *Client) Endpoint() string { return c.endpoint }

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// List returns the ids of all sandboxes, and whether each is ready. It is
// complete or an error: what is not in it is unknown to the runtime.
func (c *Client) List(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, c.failed("listing the pod sandboxes", err)
	}
	ready := make(map[string]bool, len(answer.Items))
	for _, item := range answer.Items {
		if item.GetId() == "" {
			return nil, fmt.Errorf("%w at %s: listing the pod sandboxes: one of %d has no id", ErrRuntime, c.endpoint, len(answer.Items))
		}
		ready[item.Id] = item.State == runtimeapi.PodSandboxState_SANDBOX_READY
	}
	return ready, nil
}

// failed names the endpoint and what to do.
func (c *Client) failed(doing string, err error) error {
	text := status.Convert(err).Message()
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		text = fmt.Sprintf("no answer within %s; see whether it is well, or give it a longer --timeout", c.timeout)
	case codes.Unavailable:
		text = "it cannot be reached: " + text
	case codes.Unimplemented:
		text = "it does not speak CRI v1: " + text
	}
	return fmt.Errorf("%w at %s: %s: %s%w", ErrRuntime, c.endpoint, doing, text, code{status.Code(err)})
}

// code is under an error, for who wants to tell one from another. It has no
// text: the message has it.
type code struct{ codes.Code }

func (code) Error() string { return "" }
