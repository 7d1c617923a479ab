package process

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

const (
	killedAdds  = 300
	killers     = 4  // so that calls are also killed while they wait
	undisturbed = 20 // ADDs that show how long they take here

	// Calls are killed within this time, or within twice what they take on
	// a busy machine: a call that never gets to its end shows nothing.
	killWithin = 30 * time.Millisecond
)

// kills are the outcomes of calls that were killed or were faster.
type kills struct {
	mu       sync.Mutex
	answers  map[string]netip.Addr // what was printed, also by a call killed later
	killed   int
	finished int
}

// A lock that a killed call left behind would make every later call fail, after
// the time that it may wait.
func TestAddsKilledAtAnyMomentLoseNothingThatWasAnswered(t *testing.T) {
	seed := testenv.Seed(t)
	n := network{name: "killed", subnet: "10.92.0.0/22", dataDir: newDataDir(t), binary: testenv.Binary(t, lab.BoltLocal)}
	within := max(killWithin, 2*n.usual(t))
	t.Logf("calls are killed within %v", within)
	k := kills{answers: map[string]netip.Addr{}}
	inParallel(killedAdds, func(i int) {
		call := n.call("ADD", containerID(i))
		random := testenv.Rand(seed, uint64(i))
		call.KillAfter = 1 + time.Duration(random.Int64N(int64(within)))
		reply, err := call.Run(t.Context(), n.binary)
		if err != nil {
			t.Errorf("%s: %v", call.ContainerID, err)
			return
		}
		k.note(t, call.ContainerID, reply)
	})
	t.Logf("%d calls were killed, %d answered before; %d answers were printed", k.killed, k.finished, len(k.answers))
	if k.killed == 0 || len(k.answers) == 0 {
		t.Fatalf("%d killed and %d answers: this run shows nothing", k.killed, len(k.answers))
	}

	held := n.dump(t) // that it opens, and names no address twice, is checked there
	for id, a := range k.answers {
		if held[id] != a {
			t.Errorf("%s was answered %s, but dump shows %v", id, a, held[id])
		}
	}
	n.expectRepeated(t, held)
}

// usual is how long an ADD takes here, while as many run as will later.
func (n network) usual(t *testing.T) time.Duration {
	t.Helper()
	took := make([]time.Duration, undisturbed)
	inParallel(undisturbed, func(i int) {
		id := fmt.Sprintf("undisturbed-%d", i)
		took[i] = n.run(t, n.call("ADD", id)).Took
		n.run(t, n.call("DEL", id))
	})
	slices.Sort(took)
	return took[len(took)/2]
}

// inParallel calls do for each number below n, a few at a time.
func inParallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	for worker := range killers {
		wg.Go(func() {
			for i := worker; i < n; i += killers {
				do(i)
			}
		})
	}
	wg.Wait()
}

// note records what a call did before it was killed.
func (k *kills) note(t *testing.T, id string, reply lab.Reply) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if reply.Killed {
		k.killed++
		// The answer may have been printed, whole, before the signal.
		reply.ExitCode = 0
		if _, err := reply.Result(); err != nil {
			return
		}
	} else {
		k.finished++
		if err := reply.Error(); err != nil {
			t.Errorf("ADD of %s: %v", id, err)
			return
		}
	}
	k.answers[id] = testenv.Address(t, reply)
}

// expectRepeated repeats every ADD: what is held is answered, the rest is
// allocated. Then all are deleted.
func (n network) expectRepeated(t *testing.T, held map[string]netip.Addr) {
	t.Helper()
	addresses := make([]netip.Addr, killedAdds)
	inParallel(killedAdds, func(i int) { addresses[i] = n.add(t, containerID(i)) })
	answers := map[string]netip.Addr{}
	for i, a := range addresses {
		id := containerID(i)
		answers[id] = a
		if before, ok := held[id]; ok && before != a {
			t.Errorf("%s held %s, but ADD repeated answers %s", id, before, a)
		}
	}
	if got := n.dump(t); !maps.Equal(got, answers) {
		t.Errorf("dump shows\n%v\nbut the answers were\n%v", got, answers)
	}
	inParallel(killedAdds, func(i int) { n.run(t, n.call("DEL", containerID(i))) })
	if left := n.dump(t); len(left) > 0 {
		t.Errorf("left after DEL of all: %v", left)
	}
}

func containerID(i int) string { return fmt.Sprintf("c%d", i) }
