package migration

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

const (
	eachAtOnce = 50 // calls of each binary
	maxTries   = 20
)

// crowd is calls that are made at once.
type crowd struct {
	wg    sync.WaitGroup
	start chan struct{}
	mu    sync.Mutex // of what join calls done with
}

func newCrowd() *crowd { return &crowd{start: make(chan struct{})} }

// join makes a call with the others. done is called with its reply, by one call
// after the other.
func (c *crowd) join(t *testing.T, p plugin, verb, id string, done func(lab.Reply)) {
	c.wg.Go(func() {
		<-c.start
		reply := p.persist(t, p.call(verb, id))
		c.mu.Lock()
		defer c.mu.Unlock()
		done(reply)
	})
}

func (c *crowd) run() {
	close(c.start)
	c.wg.Wait()
}

// persist makes the call again while the lock cannot be had in time, as
// runtimes do on a machine that is too busy.
func (p plugin) persist(t *testing.T, call lab.Call) lab.Reply {
	t.Helper()
	for range maxTries - 1 {
		if reply := p.try(t, call); reply.ErrorCode() != types.ErrTryAgainLater {
			if err := reply.Error(); err != nil {
				t.Errorf("%s of %s: %v", call.Verb, call.ContainerID, err)
			}
			return reply
		}
	}
	return p.run(t, call)
}

// A runtime that has cached the old configuration calls host-local while the
// others call bolt-local already.
func TestBothBinariesAtOnceOnOneDirectory(t *testing.T) {
	n := newNetwork(t, t.TempDir())
	n.subnets = []string{"10.97.0.0/23"}
	ours, theirs := n.ours(switched), n.theirs()
	pods := held{}
	pods.add(t, theirs, "old")
	pods.add(t, ours, "new")

	adds := newCrowd()
	for i := range eachAtOnce {
		for name, p := range map[string]plugin{"ours": ours, "theirs": theirs} {
			id := fmt.Sprintf("%s-%d", name, i)
			adds.join(t, p, "ADD", id, func(r lab.Reply) { pods.note(t, id, address(t, r)) })
		}
	}
	adds.run()
	n.expectDump(t, pods)

	// Half of them go, each by the binary that did not make it, and others come.
	mix := newCrowd()
	for i := range eachAtOnce / 2 {
		for name, by := range map[string]plugin{"ours": theirs, "theirs": ours} {
			id := fmt.Sprintf("%s-%d", name, i)
			delete(pods, id) // its address may be given to another from now on
			mix.join(t, by, "DEL", id, func(lab.Reply) {})
			late := fmt.Sprintf("late-%s-%d", name, i)
			mix.join(t, by, "ADD", late, func(r lab.Reply) { pods.note(t, late, address(t, r)) })
		}
	}
	mix.run()
	n.expectDump(t, pods)
	pods.add(t, ours, "last")
	n.expectInSwitch(t, pods)
	n.verify(t)
}

// Nodes get a new configuration while calls with the old one are still on their
// way: all phases are wanted at once, and host-local is called in between.
func TestAllTargetsAndHostLocalAtOnce(t *testing.T) {
	n := newNetwork(t, t.TempDir())
	n.subnets = []string{"10.97.0.0/23"}
	pods := inContract(t, n)
	calls := newCrowd()
	refused := 0
	for i := range 12 {
		for _, target := range phases {
			id := fmt.Sprintf("%s-%d", target, i)
			calls.join(t, n.ours(target), "ADD", id, func(r lab.Reply) { pods.note(t, id, address(t, r)) })
		}
		id := fmt.Sprintf("theirs-%d", i)
		calls.wg.Go(func() {
			<-calls.start
			p := n.theirs()
			reply := p.try(t, p.call("ADD", id))
			calls.mu.Lock()
			defer calls.mu.Unlock()
			switch {
			case !reply.Failed():
				pods.note(t, id, address(t, reply))
			case strings.Contains(reply.Error().Error(), "not a directory"):
				refused++ // by the tombstone
			default:
				t.Errorf("host-local: ADD of %s: %v", id, reply.Error())
			}
		})
	}
	calls.run()
	t.Logf("host-local was shut out %d times", refused)
	n.settle(t, pods)
}
