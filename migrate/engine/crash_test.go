package engine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
)

// cut is a call that is killed at each failpoint that it passes.
type cut struct {
	// begin leaves a network and returns who holds what, as was answered.
	begin func(*node) map[string]string
	call  func(*node) error
	// may are pods whose addresses may be held or not: the call was about them.
	may []string
}

func addNew(n *node) error { _, err := n.add("new"); return err }

func in(phase engine.Phase) func(*node) map[string]string {
	return func(n *node) map[string]string {
		n.target = phase
		return map[string]string{n.mustAdd("a"): "a", n.mustAdd("b"): "b"}
	}
}

// towards leaves a network in a phase whose next ADD goes to another.
func towards(from, to engine.Phase) func(*node) map[string]string {
	return func(n *node) map[string]string {
		all := in(from)(n)
		n.target = to
		return all
	}
}

// free leaves a network in a phase that no configuration asks for.
func free(phase engine.Phase) func(*node) map[string]string {
	return func(n *node) map[string]string {
		all := in(phase)(n)
		n.target = ""
		all[n.mustAdd("c")] = "c"
		return all
	}
}

var cuts = map[string]cut{
	"ADD in expand": {in(engine.Expand), addNew, []string{"new"}},
	"ADD in switch": {in(engine.Switch), addNew, []string{"new"}},
	"ADD in legacy": {in(engine.Legacy), addNew, []string{"new"}},
	"DEL in switch": {in(engine.Switch), func(n *node) error { return n.del("a") }, []string{"a"}},
	"DEL of one of two holders": {func(n *node) map[string]string {
		n.share()
		return map[string]string{"10.0.0.2": "a", "10.0.0.9": "x"}
	}, func(n *node) error { return n.del("b") }, []string{"b"}},
	"import": {func(n *node) map[string]string {
		all := in(engine.Switch)(n)
		n.olderDel("b")
		n.older("o", "10.0.0.30")
		maps.DeleteFunc(all, func(_, id string) bool { return id == "b" })
		all["10.0.0.30"] = "o"
		return all
	}, addNew, []string{"new"}},
	"ADD after a wipe": {func(n *node) map[string]string {
		all := in(engine.Switch)(n)
		n.wipe(0)
		return all
	}, addNew, []string{"new"}},
	"the first call of a boot": {func(n *node) map[string]string {
		in(engine.Switch)(n)
		n.reboot()
		return map[string]string{}
	}, addNew, []string{"new"}},
	"birth with entries": {func(n *node) map[string]string {
		n.older("x", "10.0.0.2")
		return map[string]string{"10.0.0.2": "x"}
	}, addNew, []string{"new"}},
	"birth in contract":  {func(*node) map[string]string { return map[string]string{} }, addNew, []string{"new"}},
	"legacy to expand":   {towards(engine.Legacy, engine.Expand), addNew, []string{"new"}},
	"expand to switch":   {towards(engine.Expand, engine.Switch), addNew, []string{"new"}},
	"switch to contract": {towards(engine.Switch, engine.Contract), addNew, []string{"new"}},
	"contract to switch": {towards(engine.Contract, engine.Switch), addNew, []string{"new"}},
	"switch to expand":   {towards(engine.Switch, engine.Expand), addNew, []string{"new"}},
	"expand to legacy":   {towards(engine.Expand, engine.Legacy), addNew, []string{"new"}},
	"advance by hand":    {free(engine.Switch), func(n *node) error { return n.step(1, false) }, nil},
	"rollback by hand":   {free(engine.Contract), func(n *node) error { return n.step(-1, false) }, nil},
	"the tombstone vanished, and the older program ran": {func(n *node) map[string]string {
		all := in(engine.Contract)(n)
		n.idle()
		if err := n.pair.Old.Unshut(); err != nil {
			n.Fatalf("%v", err)
		}
		n.older("o", "10.0.0.30")
		all["10.0.0.30"] = "o"
		return all
	}, addNew, []string{"new"}},
}

// carriesOn is what runs after the kill, and may give further addresses.
var carriesOn = map[string]func(n *node, c cut, all map[string]string){
	"the same call": func(n *node, c cut, _ map[string]string) {
		if err := c.call(n); err != nil && !errors.Is(err, engine.ErrStep) { // it may be done
			n.Errorf("the same call again: %v", err)
		}
	},
	"the older program": func(n *node, _ cut, all map[string]string) {
		seen := entries(n.look())
		for addr := ip("10.0.0.40"); ; addr = addr.Next() {
			err := n.pair.Old.Add(eth0("late"), addr)
			switch {
			case errors.Is(err, enginetest.ErrShut):
				return
			case errors.Is(err, fs.ErrExist), seen[addr.String()] != "":
				continue
			case err != nil:
				n.Fatalf("%v", err)
			}
			all[addr.String()] = "late"
			return
		}
	},
	"another target": func(n *node, _ cut, all map[string]string) {
		was := n.target
		n.target = map[engine.Phase]engine.Phase{
			engine.Legacy: engine.Switch, engine.Expand: engine.Contract, engine.Switch: engine.Legacy, engine.Contract: engine.Legacy, "": engine.Expand,
		}[was]
		for range 3 {
			all[n.mustAdd("late")] = "late"
		}
	},
}

// TestACallIsKilledAtEveryPoint lets one of three carry on after each kill. In
// the quick run they take turns from point to point.
func TestACallIsKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, m := range enginetest.Pairs {
		for j, name := range slices.Sorted(maps.Keys(cuts)) {
			for k, next := range slices.Sorted(maps.Keys(carriesOn)) {
				t.Run(m.Name+"/"+name+", then "+next, func(t *testing.T) {
					t.Parallel()
					for nth, more := 1, true; more; nth++ {
						if !*everything && (j+k+nth)%len(carriesOn) != 0 {
							continue
						}
						n := newNode(t, m)
						var point string
						point, more = n.cutAt(nth, cuts[name], carriesOn[next])
						if t.Failed() {
							t.Fatalf("killed at %s, the %d. point", point, nth)
						}
					}
				})
			}
		}
	}
}

// cutAt kills the call at its nth point, lets another carry on and holds what
// is left against what was answered.
func (n *node) cutAt(nth int, c cut, carryOn func(*node, cut, map[string]string)) (point string, killed bool) {
	n.Helper()
	all := c.begin(n)
	var err error
	point, killed = n.killAt(nth, func() { err = c.call(n) })
	if !killed {
		if err != nil {
			n.Errorf("without a kill: %v", err)
		}
		return point, false
	}
	if !errors.Is(err, errKilled) {
		n.Errorf("the call was killed and ended with %v", err)
	}
	n.wantAnswered("right after the kill", c, all)
	carryOn(n, c, all)
	n.wantAnswered("once another carries on", c, all)
	n.idle()
	v := n.view()
	switch v.Progress.Phase {
	case engine.Expand, engine.Switch:
		if v.Changed || len(v.Differences) > 0 {
			n.Errorf("the forms differ: changed %t, %q", v.Changed, v.Differences)
		}
	case engine.Contract:
		if v.Old.Shut == nil {
			n.Errorf("the old form is open in contract: %+v", v.Old)
		}
	}
	all[n.mustAdd("last")] = "last"
	n.wantAnswered("in the end", c, all)
	if err := n.pair.New.Verify(); err != nil {
		n.Errorf("%v", err)
	}
	return point, true
}

// wantAnswered asks that all hold what they were answered and nobody else holds
// anything, apart from those that may.
func (n *node) wantAnswered(when string, c cut, all map[string]string) {
	n.Helper()
	may := map[string]bool{}
	for _, id := range c.may {
		may[id] = true
	}
	v := n.view()
	found := map[string]string{}
	for addr, a := range v.all {
		if v.stale[addr] {
			continue
		}
		for _, h := range a.Holders {
			if id := h.ContainerID; !may[id] || all[addr.String()] == id {
				found[addr.String()] += id
			} else if all[addr.String()] != "" && len(a.Holders) == 1 {
				n.Errorf("%s: %s is held by %s alone, and was given to %s", when, addr, id, all[addr.String()])
			}
		}
	}
	want := map[string]string{}
	for addr, id := range all {
		if !may[id] || found[addr] == id {
			want[addr] = id
		}
	}
	if !maps.Equal(found, want) {
		n.Errorf("%s: held is %v, answered was %v; all that is held: %v", when, found, want, fmt.Sprint(v.held()))
	}
}
