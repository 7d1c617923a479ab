package differential

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// episode is one random configuration, from empty data directories on.
type episode struct {
	t                    *testing.T
	generator            *generator
	config               config
	hostLocal, boltLocal *peer

	held   map[attachment]json.RawMessage // bolt-local's answer, of what is attached
	old    map[attachment]json.RawMessage // the same, also of what was
	before files                          // host-local's, before the step
}

func newEpisode(t *testing.T, seed, number uint64) *episode {
	t.Helper()
	g := &generator{Rand: testenv.Rand(seed, number)}
	e := &episode{
		t:         t,
		generator: g,
		config:    g.config(t, t.TempDir()),
		held:      map[attachment]json.RawMessage{},
		old:       map[attachment]json.RawMessage{},
	}
	e.hostLocal, e.boltLocal = newPeers(t)
	return e
}

func (s step) attachment() attachment { return attachment{s.id, s.ifname} }

// next makes one random step, and returns the name of the difference that it
// brought out, if any.
func (e *episode) next() (step, string, error) {
	e.t.Helper()
	s := e.generator.step(e.config.version, e.held, e.old)
	e.before = e.hostLocal.read(e.t)
	hl, bl := runBoth(e.t, e.hostLocal, e.boltLocal, e.config, s)
	name, err := e.judge(s, hl, bl)
	if err != nil {
		return s, name, fmt.Errorf("%w\nhost-local: exit code %d: %s%s\nbolt-local: exit code %d: %s%s",
			err, hl.ExitCode, hl.Stdout, hl.Stderr, bl.ExitCode, bl.Stdout, bl.Stderr)
	}
	e.remember(s, bl)
	return s, name, nil
}

// judge compares the outcomes: by the first difference that applies, else
// they have to agree.
func (e *episode) judge(s step, hl, bl outcome) (name string, err error) {
	for _, d := range differences {
		if !d.applies(e, s, hl, bl) {
			continue
		}
		if err := d.check(e, s, hl, bl); err != nil {
			return d.name, fmt.Errorf("%s: %w", d.name, err)
		}
		if d.undo {
			e.hostLocal.restore(e.t, e.before)
		}
		return d.name, nil
	}
	return "", agree(hl, bl)
}

// remember notes what is attached after the step.
func (e *episode) remember(s step, bl outcome) {
	switch {
	case bl.Failed():
	case s.verb == "ADD":
		e.held[s.attachment()] = bl.Stdout
		e.old[s.attachment()] = bl.Stdout
	case s.verb == "DEL":
		delete(e.held, s.attachment())
	case s.verb == "GC":
		valid := map[attachment]bool{}
		for _, a := range s.request.valid {
			valid[attachment{a.ContainerID, a.IfName}] = true
		}
		for a := range e.held {
			if !valid[a] {
				delete(e.held, a)
			}
		}
	}
}
