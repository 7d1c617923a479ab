package model

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/bolt-local/bolt-local/migrate/engine"
)

// cut: what a killed call leaves is as before but for what it was about, and
// is what the next call goes on with.
func (m *model) cut(t *rapid.T, v verb, before directory, point string) {
	t.Helper()
	phase, held := m.together(m.stored, before)
	known := m.stored.known
	was := m.stored
	m.reread(t)
	now, left := m.together(m.stored, m.place)
	for addr, a := range held {
		for _, h := range a.holders {
			if !left[addr].heldBy(h.Attachment) && !m.stale(was, a) && !v.goes(addr, h) {
				t.Fatalf("killed at %s: %s lost %s", point, name(h.Attachment), addr)
			}
		}
	}
	for addr, a := range left {
		for _, h := range a.holders {
			if !held[addr].heldBy(h.Attachment) && !m.stale(m.stored, a) && !v.comes(h) {
				t.Fatalf("killed at %s: %s came by %s", point, name(h.Attachment), addr)
			}
		}
	}
	steps := []engine.Phase{phase, phase.Next(), phase.Previous(), settled(was, before, v.write), settled(was, before, v.write).Towards(v.target)}
	if known && m.stored.known && !slices.Contains(steps, now) {
		t.Fatalf("killed at %s: the phase is %s, and was %s", point, now, phase)
	}
	if now == engine.Contract && m.place.tombstone == "" {
		m.exposed = true // it was not put there yet
	}
}
