package model

import (
	"slices"

	"github.com/bolt-local/bolt-local/migrate/engine"
)

// write is a writing call, and what it does to what is stored.
type write struct {
	runtime bool // a container runtime called
	grants  bool // it is an ADD
	target  engine.Phase
	by      int // a step by hand
	force   bool
	verb    func(*attempt) uint // returns the code of its error, 0 for none
}

// expect returns what is to be known once w has ended, and the codes of its
// verb (0: none) and of its step by hand.
func (n *node) expect(before state, d directory, w write) (after state, code uint, stepped bool) {
	s := before.clone()
	if w.runtime {
		s.epoch, s.boot = s.now(n.boot), n.boot
		for addr, a := range s.held {
			if a.epoch == 0 {
				a.epoch = s.epoch
				s.held[addr] = a
			}
		}
	}
	born, known := n.enter(&s, d, w)
	if !known {
		return s, 0, w.by == 0 // there is nothing to free
	}
	ended := false // what an earlier call has begun, and that is the step asked for
	if !born {
		was := effective(s, d)
		s.phase = settled(s, d, w)
		ended = w.by > 0 && s.phase != was
	}
	if !s.stillWaits(d, w) {
		s.pending = ""
	}
	epoch := uint64(0)
	if w.runtime || s.boot == n.boot { // it has a number
		epoch = s.epoch
	}
	switch {
	case s.phase == engine.Legacy:
		s.held = imported(d, s.now(n.boot))
	case mirrored(s.phase):
		s.held = n.merge(s, d, epoch)
		n.forget(&s)
	}
	at := s.phase // in which the verb is done: a swap comes after it
	if !born {
		stepped = ended || n.step(&s, w, epoch)
		if at != engine.Contract && s.phase != engine.Contract {
			at = s.phase
		}
	}
	if w.by != 0 && !stepped {
		return before, 0, false
	}
	if w.verb == nil {
		return s, 0, stepped
	}
	try := &attempt{node: n, state: s.clone(), directory: d, phase: at}
	if code = w.verb(try); code == 0 {
		s.held = try.held
		if at != engine.Legacy { // where the directory's are the only ones
			s.cursors = try.cursors
		}
	}
	return s, code, stepped
}

// enter makes the network known, where there is something to know.
func (n *node) enter(s *state, d directory, w write) (born, known bool) {
	switch {
	case s.known:
		return false, true
	case w.by != 0, !w.grants && !d.holds():
		return false, false
	}
	s.known, s.phase, s.target = true, w.target, w.target
	if s.phase == "" || s.phase == engine.Contract {
		s.phase = engine.Contract
		if d.holds() {
			s.phase = engine.Switch
		}
	}
	return true, true
}

// settled is the phase in which a writing call begins. One that may change the
// phase ends a swap that was cut.
func settled(s state, d directory, w write) engine.Phase {
	phase := effective(s, d)
	if phase == engine.Switch && s.pending == engine.Contract && untouched(s, d) && (w.grants || w.by != 0) {
		return engine.Contract
	}
	return phase
}

// stillWaits tells whether a swap that was cut is left to a call that may change the
// phase.
func (s state) stillWaits(d directory, w write) bool {
	return s.phase == engine.Switch && s.pending == engine.Contract && untouched(s, d) && !w.grants && w.by == 0
}

// forget takes the files of earlier boots away, once in each boot.
func (n *node) forget(s *state) {
	if s.forgot == s.now(n.boot) {
		return
	}
	s.forgot = s.now(n.boot)
	for addr, a := range s.held {
		if n.stale(*s, a) {
			a.holders = slices.Clone(a.holders)
			for i := range a.holders {
				a.holders[i].mark = ""
			}
			s.held[addr] = a
		}
	}
}

// step goes one phase towards the target, or by hand, and tells whether it was
// not refused.
func (n *node) step(s *state, w write, epoch uint64) bool {
	next := s.phase
	switch {
	case w.grants:
		s.target = w.target
		next = s.phase.Towards(s.target)
	case w.by > 0:
		next = s.phase.Next()
	case w.by < 0:
		next = s.phase.Previous()
	}
	insists := w.by < 0 && w.force
	switch {
	case w.by != 0 && next == s.phase:
		return false
	case w.by != 0 && !insists && s.target != "" && s.phase.Towards(s.target) != next:
		return false
	case next == s.phase:
		return true
	case next == engine.Contract && !w.force && n.hasTheirs(*s):
		return false
	case next.Before(s.phase) && s.phase != engine.Contract && len(n.living(*s, s.held).shared()) > 0:
		return false
	case next == engine.Legacy:
		s.held = n.left(*s)
	case s.phase == engine.Legacy:
		for addr, a := range s.held {
			s.held[addr] = allocation{epoch, a.holders}
		}
		s.forgot = s.now(n.boot)
	}
	if insists {
		s.target = ""
	}
	s.phase = next
	return true
}

// left is what files tell of what is held.
func (n *node) left(s state) holdings {
	held := holdings{}
	for addr, a := range n.living(s, s.held) {
		h := a.holders[0]
		held[addr] = allocation{s.now(n.boot), []holding{{Attachment: h.Attachment, theirs: true, mark: h.mark}}}
	}
	return held
}

// hasTheirs tells whether host-local gave an address in this boot.
func (n *node) hasTheirs(s state) bool {
	for _, a := range n.living(s, s.held) {
		if slices.ContainsFunc(a.holders, func(h holding) bool { return h.theirs }) {
			return true
		}
	}
	return false
}
