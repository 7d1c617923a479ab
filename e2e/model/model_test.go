package model

import (
	"errors"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store/record"
)

// model is a node, and what it should know.
type model struct {
	*node
	stored state
	shown  seen
	place  directory    // as last read
	target engine.Phase // of the configuration
	inodes uint64       // of namespaces made so far
	// exposed: the directory does not show host-local all who live, for it was
	// changed by hand. So it may give an address that is held.
	exposed bool
	// clean: a runtime's writing call was the last to touch anything.
	clean bool
	older []copied // of the data directory
	count *counts
}

func name(att record.Attachment) string { return att.ContainerID + "/" + att.IfName }

// look reads host-local's directory.
func (m *model) look(t *rapid.T) directory {
	t.Helper()
	d, err := readDirectory(m.directory())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// write makes a writing call and holds what it does against what it should.
func (m *model) write(t *rapid.T, v verb) {
	t.Helper()
	m.try(t, v, 0)
}

// try is write, but the call is killed at its nth failpoint, if nth is not 0 and
// there are so many.
func (m *model) try(t *rapid.T, v verb, nth int) {
	t.Helper()
	d := m.place
	want, code, stepped := m.expect(m.stored, d, v.write)
	m.warned, m.clean = nil, false
	var err error
	if nth == 0 {
		err = v.call()
	} else if point := m.kill(nth, func() { err = v.call() }); point != "" {
		m.count.points[point]++
		m.cut(t, v, d, point)
		return
	}
	switch {
	case v.by != 0 && stepped != (err == nil):
		t.Fatalf("a step by %d from %s, target %q: %v, want it taken: %v", v.by, m.stored.phase, m.stored.target, err, stepped)
	case v.by != 0 && err != nil && !errors.Is(err, engine.ErrStep) && !errors.Is(err, engine.ErrUnknown):
		t.Fatalf("a step by %d: %v", v.by, err)
	case v.by == 0 && codeOf(err) != code:
		t.Fatalf("%v, want code %d", err, code)
	case err == nil && v.wrong() != "":
		t.Fatal(v.wrong())
	}
	if v.by != 0 && err != nil {
		m.refused(t, v.write, d)
		return
	}
	m.ended(t, v.write, want)
}

func codeOf(err error) uint {
	if err == nil {
		return 0
	}
	return ipam.CodeOf(err)
}

// refused: a step by hand that was not taken has changed nothing of what is
// held.
func (m *model) refused(t *rapid.T, w write, before directory) {
	t.Helper()
	was := m.stored
	phase, held := m.together(was, before)
	m.reread(t)
	now, heldNow := m.together(m.stored, m.place)
	m.same(t, "what is held after a refused step", m.described(heldNow), m.described(held))
	if m.stored.target != was.target {
		t.Fatalf("the target is %q after a refused step, and was %q", m.stored.target, was.target)
	}
	if now != settled(was, before, w) && now != phase {
		t.Fatalf("the phase is %s after a refused step, and was %s", now, phase)
	}
}

// ended holds what is stored after a writing call against what should be, and
// the directory against both.
func (m *model) ended(t *rapid.T, w write, want state) {
	t.Helper()
	before, stood := m.stored, m.place.tombstone
	m.reread(t)
	d, got := m.place, m.stored
	phase := effective(got, d)
	emptied := want.pending == engine.Contract && !d.holds() // by this call, and the next one shuts it
	if emptied {
		want.phase = engine.Contract
	}
	switch {
	case got.known != want.known:
		t.Fatalf("the network is known: %v, want %v", got.known, want.known)
	case phase != want.phase:
		t.Fatalf("the phase is %q, want %q", phase, want.phase)
	case got.target != want.target:
		t.Fatalf("the target is %q, want %q", got.target, want.target)
	case w.runtime && got.epoch != want.epoch && got.epoch != 0:
		t.Fatalf("the epoch is %d, want %d", got.epoch, want.epoch)
	}
	m.same(t, "the cursors", fmt.Sprint(got.cursors), fmt.Sprint(want.cursors))
	if phase == engine.Legacy {
		m.same(t, "what files say", imported(d, 0).attachments(), want.held.attachments())
		m.same(t, "what is stored in legacy", got.held.details(), "")
	} else if want.known {
		m.same(t, "what is stored", got.held.details(), want.held.details())
	}
	if len(d.junk) > 0 {
		t.Fatalf("in host-local's directory: %q", d.junk)
	}
	if mirrored(phase) {
		m.inStep(t, d)
	}
	if phase == engine.Contract && !emptied {
		m.shut(t, d, w.toldIn(m.bootID(), stood))
	}
	m.reported(t, before)
	if w.runtime {
		m.exposed, m.clean = false, true
	}
	m.count.phases[phase]++
}

// reread takes over what is stored, and reads host-local's directory.
func (m *model) reread(t *rapid.T) {
	t.Helper()
	m.place = m.look(t)
	var err error
	if m.stored, m.shown, err = m.read(m.target); err != nil {
		t.Fatal(err)
	}
}

// inStep: the files name those who live, in host-local's bytes, and each record
// knows its file.
func (m *model) inStep(t *rapid.T, d directory) {
	t.Helper()
	for addr, f := range d.files {
		a := m.stored.held[addr]
		if !marked(a, f) || f.content != content(holder(f.content)) {
			t.Fatalf("the file of %s has %q, mark %s; stored: %+v", addr, f.content, f.mark, a)
		}
		if m.stale(m.stored, a) {
			t.Fatalf("the file of %s is of an earlier boot", addr)
		}
	}
	for addr, a := range m.stored.held {
		f, there := d.files[addr]
		if !there && !m.stale(m.stored, a) {
			t.Fatalf("%s has no file; stored: %+v", addr, a)
		}
		for _, h := range a.holders {
			if h.mark != "" && h.mark != f.mark {
				t.Fatalf("a holder of %s has the mark of a file that is not there: %+v", addr, a)
			}
		}
	}
	if d.place != m.stored.place {
		t.Fatalf("the directory is %s, stored is %s", d.place, m.stored.place)
	}
}

// toldIn is the boot that the tombstone names after the call. stood is the one that
// was there before: who only frees leaves it.
func (w write) toldIn(boot, stood string) string {
	_, was, there := strings.Cut(stood, "\nboot: ")
	if !there || w.grants || w.by != 0 {
		return boot
	}
	was, _, _ = strings.Cut(was, "\n")
	return was
}

// shut: the tombstone stands in the directory's place, and names the boot.
func (m *model) shut(t *rapid.T, d directory, boot string) {
	t.Helper()
	for _, line := range []string{"network: " + network, "boot: " + boot, "data directory: " + m.dataDir} {
		if !strings.Contains(d.tombstone, "\n"+line+"\n") {
			t.Fatalf("the tombstone does not say %q: %q", line, d.tombstone)
		}
	}
}

// reported: of an address that two attachments turned out to hold, a line was
// said.
func (m *model) reported(t *rapid.T, before state) {
	t.Helper()
	twice := m.living(m.stored, m.stored.held).shared()
	if len(twice) > 0 {
		m.count.shared++
	}
	for _, addr := range twice {
		if len(before.held[addr].holders) < 2 && !strings.Contains(strings.Join(m.warned, "\n"), addr.String()) {
			t.Fatalf("nothing was said of %s, which is held twice: %q", addr, m.warned)
		}
	}
}

func (m *model) same(t *rapid.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("%s is not what it should be\n-- got\n%s\n-- want\n%s", what, got, want)
	}
}

// invariants hold after each action, whatever it was.
func (m *model) invariants(t *rapid.T) {
	t.Helper()
	if !m.clean { // else all was read just now
		want := m.stored
		m.reread(t)
		m.same(t, "what is stored", m.stored.held.details(), want.held.details())
	}
	phase, held := m.together(m.stored, m.place)
	if m.stored.known && m.shown.phase != phase {
		t.Fatalf("the phase is shown as %q, want %q", m.shown.phase, phase)
	}
	m.same(t, "what is shown", m.described(m.shown.held), m.described(held))
	if m.clean && mirrored(phase) && (m.shown.changed || len(m.shown.differences) > 0) {
		t.Fatalf("the forms differ; changed: %v, %q", m.shown.changed, m.shown.differences)
	}
}

// described is what a reader is told of what is held.
func (m *model) described(held holdings) string {
	return held.text(func(a allocation, one holding) string {
		return fmt.Sprintf("%s theirs %v ns %d of an earlier boot %v", name(one.Attachment), one.theirs, one.netns.Inode, m.stale(m.stored, a))
	})
}
