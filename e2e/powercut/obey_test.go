package powercut

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bolt-local/bolt-local/e2e/powercut/disk"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

// afterReboot is the node's next boot: STATUS, a look, DEL and ADDs; and of some
// trees ADDs until nothing is free, and the real host-local beside.
func (r *run) afterReboot(n node, c cut, tree disk.Tree) error {
	call := r.calls[c.call]
	found, err := r.readable(n, c, tree)
	if err != nil {
		return err
	}
	if found.damaged && call.what == damageFile {
		call = add("healer", noTarget)
	}
	if call.id != "" {
		if err := n.del(call.id, call.target); err != nil {
			return fmt.Errorf("DEL of %s: %w", call.id, err)
		}
	}
	// In legacy no boot is known, and every file holds its address.
	orphans := maps.Clone(found.unknown)
	if found.phase == legacy {
		orphans = maps.Clone(found.files)
	}
	maps.DeleteFunc(orphans, func(_, holder string) bool { return idOf(holder) == call.id })
	exhausts := r.some(ofExhausted)
	count := 2
	if exhausts {
		count = everything
	}
	held, err := n.give(count, "new", call.target, orphans)
	if err != nil {
		return err
	}
	if err := r.settled(n, c, tree, found, len(orphans) > 0, held); err != nil {
		return err
	}
	if !exhausts {
		return nil
	}
	if len(orphans) > 0 {
		if err := n.free(call.target, orphans, held); err != nil {
			return err
		}
		if held, err = n.give(everything, "newer", call.target, held); err != nil {
			return err
		}
	}
	if r.random.IntN(ofHostLocal) != 0 {
		return nil
	}
	r.counts.byHostLocal.Add(1)
	return n.besideHostLocal(call.target, held)
}

// free sends the DEL of each holder, and takes it out of held.
func (n node) free(target engine.Phase, holders, held holdings) error {
	for _, holder := range holders {
		if err := n.del(idOf(holder), target); err != nil {
			return fmt.Errorf("DEL of %s: %w", holder, err)
		}
		maps.DeleteFunc(held, func(_, h string) bool { return h == holder })
	}
	return nil
}

// idOf is the container of a holder.
func idOf(holder string) string {
	id, _, _ := strings.Cut(holder, " ")
	return id
}

// readable looks at what the cut has left, before anybody writes.
func (r *run) readable(n node, c cut, tree disk.Tree) (moment, error) {
	damaged := slices.ContainsFunc(r.possible(c), func(m moment) bool { return m.damaged })
	switch err := n.status(r.calls[c.call].target); {
	case damaged && errors.Is(err, store.ErrDamaged):
		found := moment{damaged: true, files: holdings{}}
		_, err := found.beside(n)
		found.unknown = found.files // no record is left that knows them
		return found, err
	case err != nil:
		return moment{}, fmt.Errorf("STATUS: %w", err)
	}
	keys, err := n.keys()
	if err != nil {
		return moment{}, err
	}
	if err := r.marks.settle(tree, n.root); err != nil {
		return moment{}, err
	}
	found, err := n.look()
	if err != nil {
		return found, err
	}
	found.keys = keys
	return found, r.allowed(c, found)
}

// give lets so many ADDs come, and returns what is held then. held are the
// addresses that are taken: all others must be free, and none is given twice.
func (n node) give(count int, prefix string, target engine.Phase, held holdings) (holdings, error) {
	all := maps.Clone(held)
	for i := range count {
		id := fmt.Sprintf("%s-%d", prefix, i)
		got, err := n.add(id, target)
		switch {
		case full(err) && len(all) == setSize*len(n.sets):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("ADD of %s, with %v held: %w", id, all, err)
		}
		for _, addr := range got {
			if holder, taken := all[addr.String()]; taken {
				return nil, fmt.Errorf("%s is given to %s, and %s holds it", addr, id, holder)
			}
			all[addr.String()] = id + " " + ifname
		}
	}
	if len(all) > setSize*len(n.sets) {
		return nil, fmt.Errorf("more is given than there is: %v", all)
	}
	return all, nil
}

// everything is more ADDs than there are addresses.
const everything = setSize + 1

// settled checks the forms once calls were made in the next boot.
func (r *run) settled(n node, c cut, tree disk.Tree, found moment, orphans bool, held holdings) error {
	now, err := n.look()
	if err != nil {
		return err
	}
	taken, err := takenForDamaged(n, tree)
	phases := r.phases(c, found, orphans)
	switch {
	case err != nil:
		return err
	case taken != "" && !found.damaged:
		return fmt.Errorf("%s was taken for damaged", taken)
	case !maps.Equal(now.alive, held):
		return fmt.Errorf("held are %v, and were given %v", now.alive, held)
	case len(now.differences) > 0:
		return fmt.Errorf("the forms differ: %q", now.differences)
	case !slices.Contains(phases, now.phase):
		return fmt.Errorf("the phase is %s, and not one of %v", now.phase, phases)
	case now.phase == contract && now.place != placeTombstone:
		return fmt.Errorf("in contract there is %s in the place of host-local's directory", now.place)
	case now.phase != contract && !maps.Equal(now.files, held):
		return fmt.Errorf("host-local's directory has %v, and held are %v", now.files, held)
	}
	return nil
}

// takenForDamaged returns a checkpoint that was put aside since the tree was laid.
func takenForDamaged(n node, tree disk.Tree) (string, error) {
	aside, err := filepath.Glob(n.store().Path() + ".*")
	for _, path := range aside {
		if _, before := tree.Find(dataName + "/" + filepath.Base(path)); !before {
			return path, err
		}
	}
	return "", err
}

// phases are those that a network may have come to by the ADDs of the next boot.
func (r *run) phases(c cut, found moment, orphans bool) []engine.Phase {
	target, next := r.calls[c.call].target, r.moments[c.call+1].phase
	switch {
	case target != noTarget && !(target == contract && orphans): // for which contract waits
		return []engine.Phase{target}
	case c.answered && !found.damaged && !r.forgets && next != "":
		return []engine.Phase{next}
	}
	all := []engine.Phase{contract}    // of a network that is not known
	if found.place == placeDirectory { // an empty one is like none
		all = append(all, switched)
	}
	if len(found.files) > 0 {
		all = []engine.Phase{switched}
	}
	for _, m := range r.possible(c) {
		if m.phase != "" {
			all = append(all, m.phase)
		}
		if m.pending {
			all = append(all, switched, contract)
		}
	}
	return all
}
