package cri

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/bolt-local/bolt-local/migrate/backfill"
	"github.com/bolt-local/bolt-local/store/record"
)

// Listing is what a runtime tells of its sandboxes.
type Listing struct {
	// Running have addresses of their own: those of host-network pods are left out.
	Running []backfill.Sandbox
	// NotReady are the ids of those that do not run any more.
	NotReady []string
	// Failed says of each sandbox of which the runtime could not tell.
	Failed []error
}

// atOnce is how many sandboxes are asked for at the same time, and maxHanging
// of how many no answer may come in time before the runtime is given up.
const (
	atOnce     = 8
	maxHanging = 3
)

// Sandboxes asks for every sandbox. One that fails is in Failed; the error is
// for a runtime that does not answer. What it tells is as new as its last list:
// a pod that was deleted while others were asked for is not in it.
func (c *Client) Sandboxes(ctx context.Context) (Listing, error) {
	ready, err := c.List(ctx)
	if err != nil {
		return Listing{}, err
	}
	var l Listing
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(ready)) {
		if ready[id] {
			ids = append(ids, id)
		} else {
			l.NotReady = append(l.NotReady, id)
		}
	}
	answers, err := c.statuses(ctx, ids)
	if err != nil {
		return Listing{}, err
	}
	if len(ids) > 0 { // the first list is old by now
		if ready, err = c.List(ctx); err != nil {
			return Listing{}, err
		}
	}
	for i, a := range answers {
		switch s := a.sandbox; {
		case !ready[ids[i]]: // it was stopped or removed meanwhile
			l.NotReady = append(l.NotReady, ids[i])
		case a.err != nil && !hasCode(a.err, codes.NotFound): // else it was removed meanwhile
			l.Failed = append(l.Failed, a.err)
		case a.err != nil, a.hostNetwork:
		case !a.ready:
			l.NotReady = append(l.NotReady, ids[i])
		default:
			l.Running = append(l.Running, s)
		}
	}
	return l, nil
}

// answer is what the runtime says of one sandbox.
type answer struct {
	sandbox            backfill.Sandbox
	ready, hostNetwork bool
	err                error
	hung               bool // there was none in time
}

// statuses asks for each id, a few at a time. It gives up where the runtime has
// died, or hangs. containerd answers with the same codes for a shim that has.
func (c *Client) statuses(ctx context.Context, ids []string) ([]answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make([]answer, len(ids))
	next := make(chan int)
	var group sync.WaitGroup
	var mu sync.Mutex
	hanging := 0
	for range min(atOnce, len(ids)) {
		group.Go(func() {
			for i := range next {
				answers[i] = c.status(ctx, ids[i])
				mu.Lock()
				if answers[i].hung {
					hanging++
				}
				if hanging >= maxHanging {
					cancel(answers[i].err)
				}
				if hasCode(answers[i].err, codes.Unavailable) && ctx.Err() == nil {
					if _, err := c.List(ctx); err != nil {
						cancel(err)
					}
				}
				mu.Unlock()
			}
		})
	}
	for i := range ids {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	group.Wait()
	return answers, context.Cause(ctx)
}

func hasCode(err error, want codes.Code) bool {
	var c code
	return errors.As(err, &c) && c.Code == want
}

func (c *Client) status(ctx context.Context, id string) answer {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	r, err := c.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id, Verbose: true})
	if err != nil {
		return answer{err: c.failed("asking for sandbox "+id, err), hung: ctx.Err() != nil}
	}
	s := r.GetStatus()
	if s == nil {
		return answer{err: fmt.Errorf("%w at %s: asking for sandbox %s: the answer has no status", ErrRuntime, c.endpoint, id)}
	}
	a := answer{
		ready:       s.State == runtimeapi.PodSandboxState_SANDBOX_READY,
		hostNetwork: s.GetLinux().GetNamespaces().GetOptions().GetNetwork() == runtimeapi.NamespaceMode_NODE,
	}
	addrs, err := addressesOf(s.GetNetwork())
	if err != nil {
		return answer{err: fmt.Errorf("%w at %s: sandbox %s: %w", ErrRuntime, c.endpoint, id, err)}
	}
	told := parseInfo(r.Info)
	a.sandbox = backfill.Sandbox{
		ID:         id,
		NetNS:      told.netns,
		Pod:        podOf(s),
		Interfaces: withUnnamed(told.interfaces, addrs),
	}
	if s.CreatedAt > 0 {
		a.sandbox.CreatedAt = time.Unix(0, s.CreatedAt)
	}
	return a
}

func podOf(s *runtimeapi.PodSandboxStatus) record.Pod {
	m := s.GetMetadata()
	return record.Pod{Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUid(), InfraContainerID: s.GetId()}
}

func addressesOf(n *runtimeapi.PodSandboxNetworkStatus) ([]netip.Addr, error) {
	var addrs []netip.Addr
	texts := []string{n.GetIp()}
	for _, ip := range n.GetAdditionalIps() {
		texts = append(texts, ip.GetIp())
	}
	for _, text := range texts {
		if text == "" {
			continue
		}
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("its address: %w", err)
		}
		addrs = append(addrs, addr.Unmap())
	}
	return addrs, nil
}

// withUnnamed adds an interface without a name for the addresses that none of
// named has.
func withUnnamed(named []backfill.Interface, addrs []netip.Addr) []backfill.Interface {
	rest := slices.DeleteFunc(addrs, func(addr netip.Addr) bool {
		return slices.ContainsFunc(named, func(i backfill.Interface) bool { return slices.Contains(i.Addrs, addr) })
	})
	if len(rest) == 0 {
		return named
	}
	return append(named, backfill.Interface{Addrs: rest})
}
