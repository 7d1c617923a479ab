package powercut

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/powercut/disk"
	"github.com/bolt-local/bolt-local/migrate/engine"
)

// afterKill is the next call in the same boot.
func (r *run) afterKill(n node, c cut, tree disk.Tree) error {
	if _, err := r.readable(n, c, tree); err != nil {
		return err
	}
	call := r.calls[c.call]
	if call.what == damageFile {
		return nil // what follows is the next recorded call
	}
	if err := n.again(call); err != nil {
		return fmt.Errorf("%s, again: %w", call, err)
	}
	now, err := n.look()
	if err != nil {
		return err
	}
	want := r.moments[c.call+1].alive // unless it was killed when it was recorded, too
	if got, want := slices.Sorted(maps.Values(now.alive)), slices.Sorted(maps.Values(want)); !slices.Equal(got, want) && call.kill == nil {
		return fmt.Errorf("held are %v, and should be by %v", now.alive, want)
	}
	for addr, holder := range r.moments[c.since].alive {
		if want[addr] == holder && now.alive[addr] != holder && idOf(holder) != call.id {
			return fmt.Errorf("%s is not held by %s any more: %v", addr, holder, now.alive)
		}
	}
	if len(now.differences) > 0 {
		return fmt.Errorf("the forms differ: %q", now.differences)
	}
	_, err = n.give(everything, "new", call.target, now.alive)
	return err
}

// again is what a runtime or an operator does with a call that was not answered.
func (n node) again(c call) error {
	var err error
	switch c.what {
	case verbAdd:
		_, err = n.add(c.id, c.target)
	case verbDel:
		err = n.del(c.id, c.target)
	case verbGC:
		k := n.call("", c.target)
		k.ContainerID, k.IfName, k.Stdin = "", "", n.config(lab.BoltLocal, c.target, c.keep)
		err = n.plugin().GC(k)
	case stepForward:
		_, err = n.state(nil).Advance(network, false)
	case stepBack:
		_, err = n.state(nil).Rollback(network, false)
	case forget:
		_, err = n.state(nil).Forget(network, false)
	default:
		p := c.process(n)
		if out, runErr := exec.Command(p.Path, p.Args...).CombinedOutput(); runErr != nil {
			err = fmt.Errorf("%w: %s", runErr, out)
		}
	}
	if errors.Is(err, engine.ErrStep) || c.what == forget && errors.Is(err, engine.ErrUnknown) {
		return nil // it is there already
	}
	return err
}
