package process

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

const (
	addsAtOnce = 200
	delsAtOnce = 100
)

// lockTaken is what dump says when it did not get the lock in its two seconds.
const lockTaken = "another process holds the lock"

// Each call has to answer, within the time that it may wait for the lock. On
// a machine that is too busy for that, some are told to try again, and do.
func TestAddsAndDelsAtOnceWithGCAndDump(t *testing.T) {
	binary := testenv.Binary(t, lab.BoltLocal)
	pods := network{name: "pods", subnet: "10.90.0.0/22", dataDir: newDataDir(t), binary: binary}
	other := network{name: "other", subnet: "10.91.0.0/24", dataDir: pods.dataDir, binary: binary}

	for i := range delsAtOnce {
		pods.add(t, fmt.Sprintf("old-%d", i))
	}
	otherLive := other.add(t, "live")

	var background, crowd sync.WaitGroup
	done := make(chan struct{})
	background.Go(func() {
		for i := 0; !closed(done); i++ {
			other.persist(t, other.call("ADD", fmt.Sprintf("leaked-%d", i)))
			other.persist(t, other.gc("live"))
		}
	})
	dumps, busy := 0, 0
	background.Go(func() {
		for !closed(done) {
			d, err := lab.ReadDump(t.Context(), binary, pods.dataDir)
			switch {
			case err == nil:
				pods.holdings(t, d)
				dumps++
			case strings.Contains(err.Error(), lockTaken):
				busy++
			default:
				t.Errorf("dump: %v", err)
				return
			}
		}
	})

	answers := make(map[string]netip.Addr, addsAtOnce)
	var mu sync.Mutex // of answers, longest and retries
	var longest time.Duration
	retries := 0
	start := make(chan struct{})
	join := func(verb, id string) {
		crowd.Go(func() {
			<-start
			reply, again := pods.persist(t, pods.call(verb, id))
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, reply.Took)
			retries += again
			if verb == "ADD" {
				answers[id] = testenv.Address(t, reply)
			}
		})
	}
	for i := range addsAtOnce {
		join("ADD", fmt.Sprintf("new-%d", i))
	}
	for i := range delsAtOnce {
		join("DEL", fmt.Sprintf("old-%d", i))
	}
	began := time.Now()
	close(start)
	crowd.Wait()
	total := time.Since(began)
	close(done)
	background.Wait()
	t.Logf("%d calls at once took %v, the longest of them %v; %d waited too long for the lock and were made again",
		addsAtOnce+delsAtOnce, total, longest, retries)
	t.Logf("meanwhile %d dumps, and %d that waited too long", dumps, busy)

	if got := pods.dump(t); !maps.Equal(got, answers) {
		t.Errorf("dump shows\n%v\nbut the answers were\n%v", got, answers)
	}
	if got, want := other.dump(t), map[string]netip.Addr{"live": otherLive}; !maps.Equal(got, want) {
		t.Errorf("after its last GC the other network holds %v, want %v", got, want)
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
