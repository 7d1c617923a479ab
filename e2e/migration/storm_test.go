package migration

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

const (
	stormPods   = 120
	stormAtOnce = 4

	// killWithin is when calls are killed, where they do not take longer here.
	killWithin = 30 * time.Millisecond
)

// storm is what is known of pods while calls are killed.
type storm struct {
	network
	within time.Duration

	mu     sync.Mutex // of all below
	pods   held       // attached, and told so
	unsure held       // attached and told so, and then perhaps detached
	killed int
}

// Kill points are where somebody has thought of them. This kills anywhere, with
// all targets and host-local in between.
func TestCallsOfAllTargetsKilledAtAnyMomentLoseNothingThatWasAnswered(t *testing.T) {
	seed := testenv.Seed(t)
	s := &storm{network: newNetwork(t, t.TempDir()), within: killWithin, pods: held{}, unsure: held{}}
	start := time.Now()
	s.pods.add(t, s.theirs(), "old")
	s.pods.add(t, s.ours(switched), "new")
	s.within = max(s.within, time.Since(start))

	var wg sync.WaitGroup
	for worker := range stormAtOnce {
		wg.Go(func() {
			for i := worker; i < stormPods; i += stormAtOnce {
				s.live(t, testenv.Rand(seed, uint64(i)), fmt.Sprintf("c%d", i))
			}
		})
	}
	wg.Wait()
	t.Logf("%d calls were killed, %d pods are attached, of %d it is not known", s.killed, len(s.pods), len(s.unsure))
	if s.killed == 0 || len(s.pods) == 0 {
		t.Error("this run shows nothing")
	}
	for _, id := range []string{"step-1", "step-2"} {
		s.pods.add(t, s.ours(switched), id)
	}
	s.expectAnswered(t)
}

// live is the life of a pod: an ADD, perhaps a DEL, each by anybody, and each
// perhaps killed.
func (s *storm) live(t *testing.T, r *rand.Rand, id string) {
	t.Helper()
	addr, answered := s.call(t, r, "ADD", id)
	if !answered {
		return
	}
	s.mu.Lock()
	s.pods.note(t, id, addr)
	s.mu.Unlock()
	if r.IntN(2) == 0 {
		return
	}
	s.mu.Lock()
	s.unsure[id] = addr // from now on somebody else may be given it
	delete(s.pods, id)
	s.mu.Unlock()
	if _, answered := s.call(t, r, "DEL", id); answered {
		s.mu.Lock()
		delete(s.unsure, id)
		s.mu.Unlock()
	}
}

// call lets anybody make the call. It reports whether there was an answer.
// host-local is not killed: what that leaves is not ours to answer for.
func (s *storm) call(t *testing.T, r *rand.Rand, verb, id string) (addr netip.Addr, answered bool) {
	t.Helper()
	stance := stances[r.IntN(len(stances))]
	p := s.theirs()
	if stance != hostLocal {
		p = s.ours(stance)
	}
	call := p.call(verb, id)
	if stance != hostLocal {
		call.KillAfter = 1 + time.Duration(r.Int64N(2*int64(s.within)))
	}
	reply := p.try(t, call)
	switch {
	case reply.Killed:
		s.mu.Lock()
		s.killed++
		s.mu.Unlock()
		if verb != "ADD" {
			return addr, false
		}
		reply.ExitCode = 0 // the answer may have been printed, whole, before the signal
		if _, err := reply.Result(); err != nil {
			return addr, false
		}
	case reply.Failed() && stance == hostLocal && strings.Contains(reply.Error().Error(), "not a directory"):
		return addr, false // shut out
	case reply.Failed():
		t.Errorf("%s of %s with %s: %v", verb, id, stance, reply.Error())
		return addr, false
	}
	if verb == "ADD" {
		addr = address(t, reply)
	}
	return addr, true
}

// expectAnswered checks that both forms hold the same, and of each pod what it
// was told.
func (s *storm) expectAnswered(t *testing.T) {
	t.Helper()
	got, _ := s.dump(t)
	got.expect(t, "host-local's directory", s.files(t))
	for id, addr := range s.pods {
		if got[id] != addr {
			t.Errorf("%s was answered %s, and dump shows %v", id, addr, got[id])
		}
	}
	rest := maps.Clone(got)
	maps.DeleteFunc(rest, func(id string, _ netip.Addr) bool { _, known := s.pods[id]; return known })
	for id, addr := range s.unsure {
		if a, there := rest[id]; there && a != addr {
			t.Errorf("%s was answered %s, and dump shows %s", id, addr, a)
		}
	}
}
