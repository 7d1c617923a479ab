package migration

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// addTaken is an ADD that fails in its transaction, for another container holds
// what it asks for.
func (p plugin) addTaken(taken netip.Addr) lab.Call {
	call := p.call("ADD", "refused")
	call.Args = "IP=" + taken.String()
	return call
}

// A node on which no pod starts between two steps of the rollout must not reach
// switch with a checkpoint that lacks what host-local gave out.
func TestAQuietNodeReachesSwitchKnowingAllThatHostLocalGave(t *testing.T) {
	for name, quiet := range map[string]func(*testing.T, plugin){
		"nothing was called": func(*testing.T, plugin) {},
		"only STATUS": func(t *testing.T, p plugin) {
			p.run(t, lab.Call{Verb: "STATUS", Config: p.config})
		},
		"only an ADD that fails": func(t *testing.T, p plugin) {
			reply := p.try(t, p.addTaken(lowest))
			if !reply.Failed() || !strings.Contains(reply.Error().Error(), "old-1") {
				t.Errorf("ADD of what old-1 holds: %v, stdout %s", reply.Error(), reply.Stdout)
			}
		},
		"only a DEL of what is not there": func(t *testing.T, p plugin) { p.del(t, "nobody") },
		"only a CHECK":                    func(t *testing.T, p plugin) { p.run(t, p.call("CHECK", "old-1")) },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t, t.TempDir())
			known := held{}
			for _, id := range []string{"old-1", "old-2", "old-3"} {
				known.add(t, n.theirs(), id)
			}
			quiet(t, n.ours(expand))
			known.add(t, n.theirs(), "late-1")
			quiet(t, n.ours(expand))
			known.add(t, n.theirs(), "late-2")
			known.del(t, n.theirs(), "old-3")

			p := n.ours(switched)
			known.add(t, p, "new")
			n.expectBoth(t, known)
			known.add(t, p, "newer")
			n.expectBoth(t, known)
			n.expectPhase(t, switched)
		})
	}
}

func TestCHECKOfAnOldPodWorksBeforeAnyADD(t *testing.T) {
	for _, target := range []string{noTarget, legacy, expand, switched, contract} {
		t.Run("target "+target, func(t *testing.T) {
			n := newNetwork(t, t.TempDir())
			n.theirs().add(t, "old")
			p := n.ours(target)
			p.run(t, p.call("CHECK", "old"))
			if text := p.fails(t, "CHECK", "nobody"); !strings.Contains(text, "nobody") {
				t.Errorf("CHECK of a container that holds nothing: %s", text)
			}
		})
	}
}
