package cri

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

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
	// Started are the ids of those that were ready in the last list alone: nothing
	// is known of them yet.
	Started []string
	// Listed is how many the last list had, of any kind.
	Listed int
	// Failed says of which sandboxes the runtime could not tell.
	Failed []error
}

// Identify returns what is known of the network namespace at a path, as
// [netns.System.Identify] does. It is called for several sandboxes at once.
type Identify func(path string) record.NetNS

// Sandboxes asks for every sandbox. One that fails is in Failed; the error is
// for a runtime that does not list them. What it tells is as new as its last
// list: a pod that was deleted while others were asked for is not in it. The
// namespaces of the others were identified before, so that those of pods that end
// later are known to be gone.
func (c *Client) Sandboxes(ctx context.Context, identify Identify) (Listing, error) {
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
	answers, err := c.statuses(ctx, ids, identify)
	if err != nil {
		return Listing{}, err
	}
	if len(ids) > 0 { // the first list is old by now
		first := ready
		if ready, err = c.List(ctx); err != nil {
			return Listing{}, err
		}
		for _, id := range slices.Sorted(maps.Keys(ready)) {
			if ready[id] && !first[id] {
				l.Started = append(l.Started, id)
			}
		}
	}
	l.Listed = len(ready)
	unasked := 0
	for i, a := range answers {
		switch s := a.sandbox; {
		case !ready[ids[i]]: // it was stopped or removed meanwhile
			l.NotReady = append(l.NotReady, ids[i])
		case !a.asked:
			unasked++
		case a.err != nil: // also NotFound: the last list, which is newer, has it
			l.Failed = append(l.Failed, a.err)
		case a.hostNetwork:
		case !a.ready:
			l.NotReady = append(l.NotReady, ids[i])
		default:
			l.Running = append(l.Running, s)
		}
	}
	if unasked > 0 {
		l.Failed = append(l.Failed, fmt.Errorf("%w at %s: it was not asked for %d of %d sandboxes, as %d had no answer within %s",
			ErrRuntime, c.endpoint, unasked, len(ids), maxHanging, c.timeout))
	}
	return l, nil
}

// Unready tells of sandboxes that were not ready, without those that are gone, or
// of the host's network. The error names one of which the runtime could not tell, or
// not with its network namespace.
func (c *Client) Unready(ctx context.Context, ids []string, identify Identify) ([]backfill.Sandbox, error) {
	answers, err := c.statuses(ctx, ids, identify)
	if err != nil {
		return nil, err
	}
	listed, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	var all []backfill.Sandbox
	for i, a := range answers {
		_, there := listed[ids[i]]
		switch {
		case !there, a.hostNetwork:
		case !a.asked:
			return nil, fmt.Errorf("%w at %s: it was not asked for sandbox %s, as %d had no answer within %s", ErrRuntime, c.endpoint, ids[i], maxHanging, c.timeout)
		case a.err != nil:
			return nil, a.err
		case a.plainly != nil: // its namespace may be alive
			return nil, a.plainly
		default:
			all = append(all, a.sandbox)
		}
	}
	return all, nil
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
