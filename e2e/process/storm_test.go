package process

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// The storm: as many processes at once, each of which may be killed, for a time
// that stormVariable says (a duration, as Go writes it).
const (
	stormProcesses = 64
	stormVariable  = "E2E_STORM"
	stormTime      = 4 * time.Second
)

// attachment is what one worker of the storm knows of its container: calls of
// one attachment follow each other, as a runtime makes them.
type attachment struct {
	id      string
	held    netip.Addr // answered, and not deleted since
	unsure  bool       // a call was killed: it may have been done, or not
	random  *rand.Rand
	killed  int
	answers int
}

func TestAStormOfKilledProcessesLosesNothing(t *testing.T) {
	seed := testenv.Seed(t)
	n := network{name: "storm", subnet: "10.93.0.0/23", dataDir: newDataDir(t), binary: testenv.Binary(t, lab.BoltLocal)}
	within := max(killWithin, 2*n.usual(t))
	end := time.Now().Add(stormDuration(t))
	all := make([]*attachment, stormProcesses)
	var wg sync.WaitGroup
	for i := range all {
		a := &attachment{id: fmt.Sprintf("s%d", i), random: testenv.Rand(seed, uint64(i))}
		all[i] = a
		wg.Go(func() {
			for time.Now().Before(end) && !t.Failed() {
				a.step(t, n, within)
			}
		})
	}
	wg.Wait()

	killed, answers := 0, 0
	held := n.dump(t) // that it opens, and names no address twice, is checked there
	for _, a := range all {
		killed, answers = killed+a.killed, answers+a.answers
		switch got, holds := held[a.id]; {
		case a.unsure:
		case a.held.IsValid() != holds || got != a.held:
			t.Errorf("%s was answered %v, dump shows %v", a.id, a.held, got)
		}
		delete(held, a.id)
	}
	if len(held) > 0 {
		t.Errorf("held by nobody: %v", held)
	}
	t.Logf("%d calls were killed, %d answered", killed, answers)
	if killed == 0 || answers == 0 {
		t.Fatalf("%d killed and %d answers: this run shows nothing", killed, answers)
	}
}

// step is one call, ADD or DEL, that may be killed.
func (a *attachment) step(t *testing.T, n network, within time.Duration) {
	verb := "ADD"
	if a.random.IntN(2) == 0 {
		verb = "DEL"
	}
	call := n.call(verb, a.id)
	if a.random.IntN(3) == 0 {
		call.KillAfter = 1 + time.Duration(a.random.Int64N(int64(within)))
	}
	reply, err := call.Run(t.Context(), n.binary)
	switch {
	case err != nil:
		t.Errorf("%s of %s: %v", verb, a.id, err)
	case reply.Killed:
		a.killed++
		a.unsure = true
	case reply.ErrorCode() == types.ErrTryAgainLater: // the lock, with so many
	case reply.Error() != nil:
		t.Errorf("%s of %s: %v", verb, a.id, reply.Error())
	case verb == "DEL":
		a.answers++
		a.held, a.unsure = netip.Addr{}, false
	default:
		a.answers++
		got := testenv.Address(t, reply)
		if a.held.IsValid() && !a.unsure && got != a.held {
			t.Errorf("%s held %s, and was answered %s", a.id, a.held, got)
		}
		a.held, a.unsure = got, false
	}
}

func stormDuration(t *testing.T) time.Duration {
	text := os.Getenv(stormVariable)
	if text == "" {
		return stormTime
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", stormVariable, err)
	}
	return d
}
