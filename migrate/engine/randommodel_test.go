package engine_test

import (
	"errors"
	"maps"
	"net/netip"
	"slices"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/engine/enginetest"
	"github.com/bolt-local/bolt-local/store/record"
)

// randomModel is what must be true of a node, and what may be.
type randomModel struct {
	*node
	// live are the pods whose ADD was answered, with their addresses: each must
	// be found.
	live map[string]string
	// may are pods of which something may be recorded: their ADD or DEL was
	// killed, or what their DEL has removed came back with a wiped form.
	may map[string]bool
	// blocked are addresses that something stands at, with the boot.
	blocked map[string]int
}

func (r *randomModel) verbAdd(id string, kill int) {
	r.Helper()
	before := r.view()
	var addr string
	var err error
	if _, killed := r.killAt(kill, func() { addr, err = r.add(id) }); killed {
		r.doubt(id)
		return
	}
	if err != nil {
		r.Fatalf("ADD %s: %v", id, err)
	}
	r.answered(before, id, addr)
	after := r.view().Progress
	next := before.Progress.Phase.Towards(r.target)
	if before.Known && before.Progress.Pending == "" && after.Phase != next && after.Waits == "" {
		r.Fatalf("ADD in %s towards %q ended in %s and waits for nothing", before.Progress.Phase, r.target, after.Phase)
	}
	r.wantSettled()
}

// doubt: of a pod whose call was killed anything may be recorded.
func (r *randomModel) doubt(id string) {
	if _, there := r.live[id]; !there {
		r.may[id] = true
	}
}

func (r *randomModel) answered(before seen, id, addr string) {
	r.Helper()
	was, there := r.live[id]
	if there && was != addr {
		r.Fatalf("ADD %s was answered %s, and it holds %s", id, addr, was)
	}
	for _, other := range slices.Sorted(maps.Keys(r.live)) {
		if other != id && r.live[other] == addr && !there && !r.may[id] {
			r.Fatalf("ADD %s was answered %s, which %s holds", id, addr, other)
		}
	}
	if _, stands := before.Old.AsideAt(ip(addr)); stands && r.blocked[addr] == r.boot && !there && !r.may[id] {
		r.Fatalf("ADD %s was answered %s, where something stands since this boot", id, addr)
	}
	r.live[id] = addr
}

func (r *randomModel) verbAddAsked(id, asked string) {
	r.Helper()
	if _, lives := r.live[id]; lives {
		return // which of its addresses it gets is the allocator's affair
	}
	before := r.view()
	addr, err := r.add(id, asked)
	switch code := ipam.CodeOf(err); {
	case err == nil:
		r.answered(before, id, addr)
	case code != ipam.CodeRequestedTaken && code != ipam.CodeHoldsAnother:
		r.Fatalf("ADD %s of %s: %v", id, asked, err)
	}
	r.wantSettled()
}

func (r *randomModel) verbDel(id string, kill int) {
	r.Helper()
	var err error
	_, killed := r.killAt(kill, func() { err = r.del(id) })
	delete(r.live, id)
	if killed {
		r.may[id] = true
		return
	}
	if err != nil {
		r.Fatalf("DEL %s: %v", id, err)
	}
	delete(r.may, id)
	r.wantSettled()
}

func (r *randomModel) verbGC(keep []string, kill int) {
	r.Helper()
	var err error
	_, killed := r.killAt(kill, func() { err = r.gc(keep...) })
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		if slices.Contains(keep, id) {
			continue
		}
		if _, there := r.live[id]; killed && there {
			r.may[id] = true
		}
		if !killed {
			delete(r.may, id)
		}
		delete(r.live, id)
		delete(r.spaces, "/ns/"+id)
	}
	if killed {
		return
	}
	if err != nil {
		r.Fatalf("GC: %v", err)
	}
	r.wantSettled()
}

// shut tells whether the older program must fail.
func (r *randomModel) shut(err error) bool {
	r.Helper()
	isShut := r.look().Shut != nil
	if errors.Is(err, enginetest.ErrShut) != isShut || (err != nil && !isShut) {
		r.Fatalf("the older program: %v; shut: %t", err, isShut)
	}
	return isShut
}

func (r *randomModel) olderAdd(id string) {
	r.Helper()
	there := entries(r.look())
	if _, lives := r.live[id]; lives || slices.Contains(slices.Collect(maps.Values(there)), id) {
		return // a program that finds a reservation of the same container fails
	}
	addr := ip("10.0.0.2")
	for there[addr.String()] != "" {
		addr = addr.Next()
	}
	if r.shut(r.pair.Old.Add(eth0(id), addr)) {
		return
	}
	r.live[id] = addr.String()
}

func (r *randomModel) olderDelete(id string) {
	r.Helper()
	v := r.view()
	found, err := r.pair.Old.Del(eth0(id))
	if r.shut(err) {
		return
	}
	_, lived := r.live[id]
	delete(r.live, id)
	delete(r.spaces, "/ns/"+id)
	// What it does not find it cannot remove, and in a form that was wiped its
	// DEL tells nothing of what the wiped one had.
	if (lived && !found) || (r.isStored(id) && v.Old.Place != v.Progress.Place) {
		r.may[id] = true
	}
}

func (r *randomModel) isStored(id string) bool {
	r.Helper()
	all, _ := r.stored()
	for _, a := range all {
		if a.HeldBy(eth0(id)) {
			return true
		}
	}
	return false
}

// allDie is a reboot. What the new form knows is of an earlier boot then; of
// what it does not know nobody can tell.
func (r *randomModel) allDie() {
	r.Helper()
	v := r.view()
	known := v.Known && v.Progress.Phase != engine.Legacy && !v.Changed
	all, _ := r.stored()
	for _, a := range all {
		known = known && a.Epoch != 0 // an operator's call has written it
	}
	for id := range r.live {
		r.may[id] = true
	}
	clear(r.live)
	if known {
		clear(r.may)
	}
	r.reboot()
}

// anotherView is a call under another boot id while all live on: those whose
// namespace is recorded must be kept.
func (r *randomModel) anotherView() {
	r.Helper()
	r.boot++
	all, _ := r.stored()
	for id, addr := range r.live {
		a := all[ip(addr)]
		if !slices.ContainsFunc(a.Holders, func(h record.Holder) bool {
			return h.Attachment == eth0(id) && r.spaces.Alive(h.NetNS)
		}) {
			delete(r.live, id)
			r.may[id] = true
		}
	}
}

// lose loses the old form, in the way'th of its ways, or its tombstone.
func (r *randomModel) lose(way int) {
	r.Helper()
	clear(r.blocked)
	if c := r.look(); c.Shut != nil {
		if err := r.pair.Old.Unshut(); err != nil {
			r.Fatalf("%v", err)
		}
		return
	} else if !c.Exists {
		return
	}
	ways := r.pair.Old.Wipes()
	r.wipe(way % len(ways))
	// What only the old form knew is gone, and what it did not have any more
	// comes back.
	all, stale := r.stored()
	stored := map[string]bool{}
	for addr, a := range all {
		for _, h := range a.Holders {
			if stale[addr] {
				continue
			}
			if stored[h.ContainerID+addr.String()] = true; r.live[h.ContainerID] != addr.String() {
				r.may[h.ContainerID] = true
			}
		}
	}
	for id, addr := range r.live {
		if !stored[id+addr] {
			delete(r.live, id)
			delete(r.spaces, "/ns/"+id)
		}
	}
}

// blocks puts something at an address that nobody has.
func (r *randomModel) blocks(addr string) {
	r.Helper()
	v := r.view()
	if _, entry := v.Old.At(ip(addr)); entry || v.Old.Shut != nil || len(v.all[ip(addr)].Holders) > 0 || len(r.may) > 0 {
		return
	}
	r.block(addr, false)
	r.blocked[addr] = r.boot
}

// wantSettled is asked after each of the engine's calls that was not killed.
func (r *randomModel) wantSettled() {
	r.Helper()
	v := r.view()
	if v.Progress.Phase != engine.Expand && v.Progress.Phase != engine.Switch {
		return
	}
	if v.Changed || len(v.Differences) > 0 {
		r.Fatalf("the forms differ in %s: changed %t, %q", v.Progress.Phase, v.Changed, v.Differences)
	}
}

// invariants hold at any time.
func (r *randomModel) invariants() {
	r.Helper()
	v := r.view()
	for _, id := range slices.Sorted(maps.Keys(r.live)) {
		addr := r.live[id]
		if !v.all[ip(addr)].HeldBy(eth0(id)) || v.stale[ip(addr)] {
			r.Fatalf("in %s %s was given %s, and that is held by %q", v.Progress.Phase, id, addr, v.held()[addr])
		}
	}
	for _, addr := range slices.SortedFunc(maps.Keys(v.all), netip.Addr.Compare) {
		for _, h := range v.all[addr].Holders {
			if id := h.ContainerID; !v.stale[addr] && r.live[id] != addr.String() && !r.may[id] {
				r.Fatalf("in %s %s is held by %s, whom it was never given or who is gone", v.Progress.Phase, addr, id)
			}
		}
	}
	if err := r.pair.New.Verify(); err != nil {
		r.Fatalf("%v", err)
	}
}
