package cri

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/bolt-local/bolt-local/migrate/backfill"
)

// atOnce is how many sandboxes are asked for at the same time, and maxHanging of
// how many no answer may come in time before no more are asked for: each costs
// the whole time.
const (
	atOnce     = 8
	maxHanging = 3
)

// answer is what the runtime says of one sandbox.
type answer struct {
	asked              bool
	sandbox            backfill.Sandbox
	ready, hostNetwork bool
	plainly            error // why it was told without the verbose information, nil where with it
	err                error
	hung               bool // err came at the deadline, or little before
}

// asker asks for sandboxes, a few at a time.
type asker struct {
	client *Client
	giveUp context.CancelCauseFunc
	enough chan struct{} // is closed where no more are asked for

	mu      sync.Mutex
	hanging int
	listed  bool // the runtime was asked for its list since, and gave it
}

// statuses asks for each id. The error is for a runtime that has died, or hangs:
// one that still lists its sandboxes fails in some of them alone.
func (c *Client) statuses(ctx context.Context, ids []string, identify Identify) ([]answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &asker{client: c, giveUp: cancel, enough: make(chan struct{})}
	answers := make([]answer, len(ids))
	next := make(chan int)
	var group sync.WaitGroup
	for range min(atOnce, len(ids)) {
		group.Go(func() {
			for i := range next {
				answers[i] = c.status(ctx, ids[i], identify)
				answers[i].asked = true
				a.judge(ctx, answers[i])
			}
		})
	}
	a.ask(ctx, len(ids), next)
	close(next)
	group.Wait()
	return answers, context.Cause(ctx)
}

// ask hands out the numbers of the ids.
func (a *asker) ask(ctx context.Context, n int, next chan<- int) {
	for i := range n {
		select {
		case <-a.enough:
			return
		default:
		}
		select {
		case next <- i:
		case <-a.enough:
			return
		case <-ctx.Done():
			return
		}
	}
}

// judge tells a runtime that is gone from a sandbox that is: containerd answers
// with the same codes, or not at all, where a shim has died or hangs. One list
// that it gives counts for the rest: if it dies later, the last list fails.
func (a *asker) judge(ctx context.Context, got answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if got.hung {
		a.hanging++
	}
	tooMany := got.hung && a.hanging == maxHanging
	if ctx.Err() != nil || !tooMany && !hasCode(got.err, codes.Unavailable) {
		return
	}
	if !a.listed {
		if _, err := a.client.List(ctx); err != nil {
			a.giveUp(err)
			return
		}
		a.listed = true
	}
	if tooMany {
		close(a.enough)
	}
}

func hasCode(err error, want codes.Code) bool {
	var c code
	return errors.As(err, &c) && c.Code == want
}

// askFor asks without the verbose information where that cannot be had, as where
// containerd has lost what it keeps of the pause container: the pod and its
// addresses are told all the same, and plainly is why. The error is that of the
// first question.
func (c *Client) askFor(ctx context.Context, id string) (r *runtimeapi.PodSandboxStatusResponse, plainly, err error) {
	r, err = c.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id, Verbose: true})
	if err == nil || ctx.Err() != nil {
		return r, nil, err
	}
	if r, plainErr := c.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id}); plainErr == nil {
		return r, err, nil
	}
	return nil, nil, err
}

func (c *Client) status(ctx context.Context, id string, identify Identify) answer {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	began := time.Now()
	r, plainly, err := c.askFor(ctx, id)
	if err != nil {
		late := time.Since(began) > c.timeout/2 // the runtime knows the deadline, too, and may be the first to fail
		return answer{err: c.failed("asking for sandbox "+id, err), hung: late}
	}
	s := r.GetStatus()
	if s == nil {
		return answer{err: fmt.Errorf("%w at %s: asking for sandbox %s: the answer has no status", ErrRuntime, c.endpoint, id)}
	}
	addrs, err := addressesOf(s.GetNetwork())
	if err != nil {
		return answer{err: fmt.Errorf("%w at %s: sandbox %s: %w", ErrRuntime, c.endpoint, id, err)}
	}
	told := parseInfo(r.Info)
	a := answer{
		ready:       s.State == runtimeapi.PodSandboxState_SANDBOX_READY,
		hostNetwork: s.GetLinux().GetNamespaces().GetOptions().GetNetwork() == runtimeapi.NamespaceMode_NODE,
		sandbox: backfill.Sandbox{
			ID:         id,
			NetNS:      identify(told.netns),
			Pod:        podOf(s),
			Interfaces: withUnnamed(told.interfaces, addrs),
		},
	}
	if plainly != nil {
		a.plainly = c.failed("asking for sandbox "+id, plainly)
	}
	if s.CreatedAt > 0 {
		a.sandbox.CreatedAt = time.Unix(0, s.CreatedAt)
	}
	return a
}
