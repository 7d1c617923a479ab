package powercut

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// allowed holds what was found against what may be found at the cut: one of the
// moments since the last answer, for a verb is one transaction or none.
func (r *run) allowed(c cut, found moment) error {
	possible := r.possible(c)
	// Healing is a transaction of its own, and notes what it did.
	heals := slices.ContainsFunc(possible, func(m moment) bool { return m.damaged })
	stored := slices.IndexFunc(possible, func(m moment) bool {
		return maps.Equal(m.keys, found.keys) || heals && m.phase == found.phase && maps.Equal(m.held, found.held)
	})
	created := r.forgets && r.moments[0].keys == nil && found.keys == nil // and its name was lost
	if stored < 0 && !created && !(possible[0].keys == nil && onlyCreated(found.keys)) {
		return fmt.Errorf("the checkpoint holds %v, phase %q: none of the states since the last answer (%s)",
			found.held, found.phase, differing(possible[len(possible)-1].keys, found.keys))
	}
	if r.forgets {
		return allowedBeside(r.moments[:c.call+2], false, found)
	}
	if err := allowedBeside(possible, c.answered, found); err != nil {
		return err
	}
	// The old form is durable before the new one is committed.
	if stored >= 0 && stored == len(possible)-1 && found.mirrored() && !maps.Equal(found.files, possible[stored].files) {
		return fmt.Errorf("the checkpoint is ahead of host-local's directory: %v, and there %v", found.held, found.files)
	}
	return nil
}

// allowedBeside is allowed for what stands in the place of host-local's
// directory.
func allowedBeside(possible []moment, answered bool, found moment) error {
	before, after := possible[0], possible[len(possible)-1]
	any := func(is func(moment) bool) bool { return slices.ContainsFunc(possible, is) }
	// A network that is new is written like any other, and shut after that.
	born := before.place == placeEmpty && after.place == placeTombstone && !answered
	if !any(func(m moment) bool { return m.place == found.place }) && !(born && found.place == placeDirectory) {
		return fmt.Errorf("in the place of host-local's directory stands %s", found.place)
	}
	for addr, holder := range found.files {
		// A call that ends in contract has written the file before.
		if !any(func(m moment) bool { return m.files[addr] == holder || m.held[addr] == holder }) {
			return fmt.Errorf("host-local's file of %s names %s", addr, holder)
		}
	}
	for addr := range before.files {
		// One of the boot before goes, whoever gets the address then.
		if found.files[addr] == "" && !any(func(m moment) bool { return m.files[addr] == "" || m.alive[addr] == "" }) {
			return fmt.Errorf("host-local's file of %s is gone", addr)
		}
	}
	return nil
}

// possible are the moments that may be found at the cut, in their order.
func (r *run) possible(c cut) []moment { return r.moments[c.since : c.call+2] }

// onlyCreated tells that a checkpoint was made and nothing put into it.
func onlyCreated(keys map[string]string) bool {
	for path := range keys {
		if !strings.HasPrefix(path, "meta/") || strings.HasPrefix(path, `meta/"epochs"`) {
			return false
		}
	}
	return true
}

// differing names some of the keys in which two checkpoints differ.
func differing(want, got map[string]string) string {
	var paths []string
	for path := range maps.Keys(want) {
		if v, ok := got[path]; !ok || v != want[path] {
			paths = append(paths, path)
		}
	}
	for path := range maps.Keys(got) {
		if _, ok := want[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return "of the newest it differs in " + strings.Join(paths[:min(len(paths), 5)], ", ")
}
