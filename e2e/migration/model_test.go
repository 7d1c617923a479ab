package migration

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// hostLocal is where a node stands beside the four targets: its configuration
// names host-local.
const hostLocal = "host-local"

var (
	phases  = []string{legacy, expand, switched, contract} // in their order
	stances = append([]string{hostLocal}, phases...)
)

// model says what must hold of a network after each call.
type model struct {
	phase string // "" while bolt-local does not know the network
	used  bool   // host-local's directory has been made
	pods  held
	// theirs are the pods whose addresses, as far as the checkpoint knows,
	// host-local gave out.
	theirs map[string]bool
}

func newModel() *model { return &model{pods: held{}, theirs: map[string]bool{}} }

// enter is what the first writing call of bolt-local does.
func (m *model) enter(target string) {
	if m.phase = target; target == contract && m.used {
		m.phase = switched
	}
	m.used = true
	m.forgetOrigins()
}

// forgetOrigins: what is read from the directory is host-local's.
func (m *model) forgetOrigins() {
	clear(m.theirs)
	for id := range m.pods {
		m.theirs[id] = true
	}
}

// step is what an ADD does before it gives an address.
func (m *model) step(target string) {
	at := slices.Index(phases, m.phase)
	switch to := slices.Index(phases, target); {
	case to < at:
		m.phase = phases[at-1]
	case to == at, phases[at+1] == contract && len(m.theirs) > 0:
	default:
		m.phase = phases[at+1]
	}
	if m.phase == legacy || (m.phase == expand && phases[at] == legacy) {
		m.forgetOrigins()
	}
}

// drop is a DEL.
func (m *model) drop(id string) {
	delete(m.pods, id)
	delete(m.theirs, id)
}

// walk is a network, what must hold of it, and a source of choices.
type walk struct {
	network
	model *model
	rand  *rand.Rand
	next  int // of the next container id
	log   []string
}

func (w *walk) expect(t *testing.T) {
	t.Helper()
	if w.model.phase == "" {
		w.model.pods.expect(t, "host-local's directory", w.files(t))
		return
	}
	w.expectIn(t, w.model.phase, w.model.pods)
}
