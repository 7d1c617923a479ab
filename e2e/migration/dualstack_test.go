package migration

import (
	"slices"
	"strings"
	"testing"
)

// owners are who holds each address, as "<address> <container id>", sorted.
func (n network) owners(t *testing.T) (dump, directory []string) {
	t.Helper()
	for _, a := range n.stored(t).Allocations {
		dump = append(dump, a.IP.String()+" "+a.ContainerID)
	}
	if !n.isShut() {
		for name, content := range n.reservations(t) {
			id, _, _ := strings.Cut(content, "\r\n")
			directory = append(directory, name+" "+id)
		}
	}
	slices.Sort(dump)
	slices.Sort(directory)
	return dump, directory
}

// expectBothFamilies checks that each container, and nobody else, holds one
// address of each family, in each form that counts.
func (n network) expectBothFamilies(t *testing.T, phase string, ids ...string) {
	t.Helper()
	n.expectPhase(t, phase)
	dump, directory := n.owners(t)
	if phase != contract && !slices.Equal(dump, directory) {
		t.Errorf("dump shows\n%q\nand host-local's directory has\n%q", dump, directory)
	}
	got := map[string]int{}
	for _, owner := range dump {
		addr, id, _ := strings.Cut(owner, " ")
		if strings.Contains(addr, ":") {
			got[id] += 10
		} else {
			got[id]++
		}
	}
	for _, id := range ids {
		if got[id] != 11 {
			t.Errorf("%s does not hold one address of each family: %q", id, dump)
		}
	}
	if len(got) != len(ids) {
		t.Errorf("dump shows %q, want %q", dump, ids)
	}
}

// Each range set has a cursor of its own, which host-local numbers.
func TestADualStackNetworkMovesThereAndBack(t *testing.T) {
	n := newNetwork(t, t.TempDir())
	n.subnets = []string{"10.97.0.0/28", "fd00:97::/120"}
	theirs, ours := n.theirs(), n.ours(switched)
	theirs.add(t, "a")
	theirs.add(t, "b")
	ours.add(t, "c")
	n.expectBothFamilies(t, switched, "a", "b", "c")

	ours.del(t, "a")
	theirs.del(t, "b")
	ours.add(t, "d")
	n.expectBothFamilies(t, switched, "c", "d")
	theirs.add(t, "e")
	theirs.del(t, "c")
	ours.add(t, "f")
	n.expectBothFamilies(t, switched, "d", "e", "f")

	theirs.del(t, "e")
	n.ours(contract).add(t, "g")
	n.expectBothFamilies(t, contract, "d", "f", "g")
	n.ours(contract).del(t, "d")
	n.ours(switched).add(t, "h")
	n.expectBothFamilies(t, switched, "f", "g", "h")
	// Both cursors went along: the next address of each family was never given
	// out before.
	before, _ := n.owners(t)
	theirs.add(t, "i")
	after, _ := n.owners(t)
	fresh := slices.DeleteFunc(after, func(owner string) bool { return slices.Contains(before, owner) })
	if want := []string{"10.97.0.10 i", "fd00:97::a i"}; !slices.Equal(fresh, want) {
		t.Errorf("host-local gave %q, want %q", fresh, want)
	}
}
