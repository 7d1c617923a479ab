package model

import (
	"slices"

	"github.com/bolt-local/bolt-local/migrate/engine"
)

// What the directory means beside what is stored.

func mirrored(p engine.Phase) bool { return p == engine.Expand || p == engine.Switch }

// effective is the phase that holds: a swap that was begun is done where the
// directory says so, and a directory that host-local has used is open.
func effective(s state, d directory) engine.Phase {
	switch {
	case s.phase == engine.Contract && d.holds():
		return engine.Switch
	case s.phase == engine.Contract && s.pending == engine.Switch && d.tombstone == "":
		return engine.Switch // opened, and wiped since
	case s.pending == engine.Contract && !d.holds():
		return engine.Contract // nothing is as good as the tombstone, which is put there
	}
	return s.phase
}

// untouched tells whether the directory is as the last write left it.
func untouched(s state, d directory) bool {
	if !d.there || d.place != s.place {
		return false
	}
	for addr, f := range d.files {
		if !marked(s.held[addr], f) {
			return false
		}
	}
	for addr, a := range s.held {
		if _, there := d.files[addr]; !there && slices.ContainsFunc(a.holders, func(h holding) bool { return h.mark != "" }) {
			return false
		}
	}
	return true
}

// marked tells whether f is the file that is known to name one of the holders.
func marked(a allocation, f file) bool {
	return slices.ContainsFunc(a.holders, func(h holding) bool {
		return h.mark == f.mark && h.Attachment == holder(f.content)
	})
}

// fresh is an address whose file another has made.
func fresh(epoch uint64, f file) allocation {
	return allocation{epoch, []holding{{Attachment: holder(f.content), theirs: true, mark: f.mark}}}
}

// merge brings what is stored to what both say together. epoch is given to what
// another has made.
func (n *node) merge(s state, d directory, epoch uint64) holdings {
	replaced := s.place != d.place
	held := holdings{}
	for addr, f := range d.files {
		a := s.held[addr]
		switch {
		case marked(a, f):
			held[addr] = a
		case n.stale(s, a):
			held[addr] = fresh(epoch, f)
		default:
			all := fresh(epoch, f)
			for _, h := range a.holders {
				if h.Attachment != holder(f.content) && (replaced || h.mark == "") {
					h.mark = ""
					all.holders = append(all.holders, h)
				}
			}
			held[addr] = all
		}
	}
	for addr, a := range s.held {
		if _, there := d.files[addr]; there {
			continue
		}
		for _, h := range a.holders {
			if replaced || h.mark == "" || n.stale(s, a) {
				h.mark = ""
				all := held[addr]
				all.epoch = a.epoch
				all.holders = append(all.holders, h)
				held[addr] = all
			}
		}
	}
	return held
}

// imported is a directory that is all that is known.
func imported(d directory, epoch uint64) holdings {
	held := holdings{}
	for addr, f := range d.files {
		held[addr] = fresh(epoch, f)
	}
	return held
}

// stale tells whether an allocation is of an earlier boot, and free.
func (n *node) stale(s state, a allocation) bool {
	if a.epoch == 0 || a.epoch >= s.now(n.boot) {
		return false
	}
	return !slices.ContainsFunc(a.holders, func(h holding) bool { return n.spaces.Alive(h.netns) })
}

// dead tells whether the namespaces of all holders are gone.
func (n *node) dead(a allocation) bool {
	return len(a.holders) > 0 && !slices.ContainsFunc(a.holders, func(h holding) bool { return !n.spaces.Dead(h.netns) })
}

// living are the allocations of this boot.
func (n *node) living(s state, held holdings) holdings {
	live := holdings{}
	for addr, a := range held {
		if !n.stale(s, a) {
			live[addr] = a
		}
	}
	return live
}

// together is what a reading call sees.
func (n *node) together(s state, d directory) (engine.Phase, holdings) {
	phase := effective(s, d)
	switch {
	case !s.known, phase == engine.Legacy:
		return phase, imported(d, s.now(n.boot))
	case mirrored(phase):
		return phase, n.merge(s, d, s.now(n.boot))
	}
	return phase, s.held.clone()
}
