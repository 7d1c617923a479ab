package migration

import (
	"os"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// heir is who is called next after a call was killed: bolt-local with a target,
// or host-local.
type heir string

func (k killable) heirs() []heir {
	other := heir(contract)
	if k.target == contract {
		other = legacy
	}
	all := []heir{heir(k.target), other}
	if !k.blind {
		all = append(all, hostLocal)
	}
	return all
}

func (h heir) String() string {
	if h == noTarget {
		return "no target"
	}
	return string(h)
}

func (h heir) plugin(n network) plugin {
	if h == hostLocal {
		return n.theirs()
	}
	return n.ours(string(h))
}

// allHeirs is an environment variable: if it is set, each call that is killed at a
// point has all heirs in turn. Without it it has one, which the seed chooses.
const allHeirs = "E2E_ALL_HEIRS"

// A call may end at any point: by the kernel for want of memory, by a runtime
// that has waited long enough. Whoever comes next carries on.
func TestACallKilledAtAnyPointIsCarriedOnByWhoeverComesNext(t *testing.T) {
	t.Parallel()
	points := tracePoints(t)
	seed := testenv.Seed(t)
	for i, k := range killables {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for j, point := range points[i] {
				heirs := k.heirs()
				if os.Getenv(allHeirs) == "" {
					at := (seed + uint64(i+j)) % uint64(len(heirs))
					heirs = heirs[at : at+1]
				}
				for _, h := range heirs {
					t.Run(point+", then "+h.String(), func(t *testing.T) {
						n := newNetwork(t, t.TempDir())
						pods := k.prepare(t, n)
						k.kill(t, n, point)
						n.carryOn(t, k, pods, h)
						n.settle(t, pods)
					})
				}
			}
		})
	}
}

func (k killable) kill(t *testing.T, n network, point string) {
	t.Helper()
	p := k.plugin(t, n, killAt+point)
	if reply := p.try(t, p.call(k.verb, k.id)); !reply.Killed {
		t.Fatalf("%s was not killed: %v, stdout %s", point, reply.Error(), reply.Stdout)
	}
}

// carryOn attaches another pod, which must not be given what anybody holds, nor
// what the killed ADD may have allocated. Then the runtime makes its call again.
func (n network) carryOn(t *testing.T, k killable, pods held, h heir) {
	t.Helper()
	if k.verb == "DEL" {
		delete(pods, k.id) // it may be gone, and nobody has been told
	}
	if h == hostLocal && n.isShut() {
		n.expectShut(t, "after")
		h = heir(k.target)
	}
	p := h.plugin(n)
	pods.add(t, p, "after")
	if k.verb == "DEL" {
		p.del(t, k.id)
		return
	}
	if h == hostLocal {
		p.del(t, k.id) // host-local refuses to be asked again
	}
	pods.add(t, p, k.id)
}

// settle goes to switch, with ADDs that take a step each. There both forms hold
// the same.
func (n network) settle(t *testing.T, pods held) {
	t.Helper()
	for _, id := range []string{"step-1", "step-2", "step-3"} {
		pods.add(t, n.ours(switched), id)
		if n.stored(t).Phase == switched {
			break
		}
	}
	n.expectInSwitch(t, pods)
}
