package migration

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// The environment of a bolt-local with the tag failpoints, as it is documented
// there.
const (
	killAt    = "BOLT_LOCAL_FAILPOINT="
	traceInto = "BOLT_LOCAL_FAILPOINT_TRACE="
)

// killPoints are all that bolt-local has, and what the killables pass: who adds a
// point adds it here, and a call that passes it where none does.
var killPoints = []string{
	"engine.merged",
	"engine.mirrored",
	"hostlocal.after-swap",
	"hostlocal.after-sync",
	"hostlocal.before-open",
	"hostlocal.before-swap",
	"hostlocal.before-sync",
	"hostlocal.beside",
	"hostlocal.created",
	"hostlocal.name-free",
	"hostlocal.opened",
	"hostlocal.prepared",
	"hostlocal.replaced",
	"hostlocal.unlinked",
	"hostlocal.written",
	"store.after-commit",
	"store.after-journal",
	"store.after-witness",
	"store.before-commit",
	"store.created",
}

// killable is a call of bolt-local that is killed, and the state that it comes
// upon.
type killable struct {
	name string
	// prepare makes the state, in which the pod "dead" is not attached, and
	// returns what is held.
	prepare func(*testing.T, network) held
	target  string // of the call
	verb    string
	id      string // its container

	// blind: until the call is done, host-local sees less than is held. Somebody
	// has wiped its directory, or removed the tombstone.
	blind bool
}

// killables are ADD, DEL, import, each step and each step back.
var killables = []killable{
	{"the first ADD, without a directory", nothing, noTarget, "ADD", "dead", false},
	{"the first ADD, of the target switch without a directory", nothing, switched, "ADD", "dead", false},
	{"the first ADD, which imports", onHostLocal, noTarget, "ADD", "dead", false},
	{"the first DEL, which imports", onHostLocal, noTarget, "DEL", "old", false},
	{"the first ADD, of the target legacy", onHostLocal, legacy, "ADD", "dead", false},
	{"ADD in legacy", reached(legacy), legacy, "ADD", "dead", false},
	{"DEL in legacy", reached(legacy), legacy, "DEL", "web", false},
	{"the step to expand", reached(legacy), expand, "ADD", "dead", false},
	{"ADD in expand", reached(expand), expand, "ADD", "dead", false},
	{"DEL in expand", reached(expand), expand, "DEL", "web", false},
	{"the step to switch", reached(expand), switched, "ADD", "dead", false},
	{"ADD in switch", reached(switched), switched, "ADD", "dead", false},
	{"DEL in switch", reached(switched), switched, "DEL", "web", false},
	{"ADD in switch after host-local", afterHostLocal, switched, "ADD", "dead", false},
	{"DEL in switch after host-local", afterHostLocal, switched, "DEL", "web", false},
	{"ADD in switch after a wipe", afterWipe, switched, "ADD", "dead", true},
	{"DEL of one of two holders", twoHolders, switched, "DEL", "intruder", false},
	{"DEL of one of two holders, with no name beside", twoHoldersInTheWay, switched, "DEL", "intruder", false},
	{"the step to contract", readyToContract, contract, "ADD", "dead", false},
	{"ADD in contract", inContract, contract, "ADD", "dead", false},
	{"DEL in contract", inContract, contract, "DEL", "web", false},
	{"ADD in contract without its tombstone", withoutTombstone, contract, "ADD", "dead", true},
	{"ADD in contract after host-local ran beside it", besideTombstone, contract, "ADD", "dead", true},
	{"the step back to switch", inContract, switched, "ADD", "dead", false},
	{"the step back to expand", reached(switched), expand, "ADD", "dead", false},
	{"the step back to legacy", reached(expand), legacy, "ADD", "dead", false},
}

func nothing(*testing.T, network) held { return held{} }

func onHostLocal(t *testing.T, n network) held {
	t.Helper()
	pods := held{}
	pods.add(t, n.theirs(), "old")
	return pods
}

// reached is a network that began on host-local and is in a phase.
func reached(phase string) func(*testing.T, network) held {
	return func(t *testing.T, n network) held {
		t.Helper()
		pods := onHostLocal(t, n)
		pods.add(t, n.ours(phase), "web")
		return pods
	}
}

func afterHostLocal(t *testing.T, n network) held {
	t.Helper()
	pods := reached(switched)(t, n)
	pods.del(t, n.theirs(), "old")
	pods.add(t, n.theirs(), "guest")
	return pods
}

func afterWipe(t *testing.T, n network) held {
	t.Helper()
	pods := reached(switched)(t, n)
	if err := os.RemoveAll(n.dir()); err != nil {
		t.Fatal(err)
	}
	return pods
}

// twoHolders is a network in which "intruder" holds the address of "old", and the
// file names it.
func twoHolders(t *testing.T, n network) held {
	t.Helper()
	pods := afterWipe(t, n)
	n.theirs().add(t, "intruder")
	pods.add(t, n.ours(switched), "db")
	return pods
}

// twoHoldersInTheWay: what stands beside the directory is none of ours, and so
// cannot be used for a swap.
func twoHoldersInTheWay(t *testing.T, n network) held {
	t.Helper()
	pods := twoHolders(t, n)
	beside := filepath.Join(n.parent, ".bolt-local-"+n.name)
	if err := errors.Join(os.Mkdir(beside, 0o755), os.WriteFile(filepath.Join(beside, "notes"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	return pods
}

func readyToContract(t *testing.T, n network) held {
	t.Helper()
	pods := reached(switched)(t, n)
	pods.del(t, n.theirs(), "old")
	return pods
}

func inContract(t *testing.T, n network) held {
	t.Helper()
	pods := held{}
	pods.add(t, n.ours(contract), "web")
	pods.add(t, n.ours(contract), "db")
	return pods
}

func withoutTombstone(t *testing.T, n network) held {
	t.Helper()
	pods := inContract(t, n)
	if err := os.Remove(n.dir()); err != nil {
		t.Fatal(err)
	}
	return pods
}

func besideTombstone(t *testing.T, n network) held {
	t.Helper()
	pods := withoutTombstone(t, n)
	pods["guest"] = pods["db"].Next().Next()
	n.theirs().addAt(t, "guest", pods["guest"])
	return pods
}

func (k killable) plugin(t *testing.T, n network, env ...string) plugin {
	t.Helper()
	p := n.ours(k.target)
	p.binary, p.env = testenv.Binary(t, lab.BoltLocalFailpoints), env
	return p
}

// trace lets the call through and returns the points that it passed.
func (k killable) trace(t *testing.T) []string {
	t.Helper()
	n := newNetwork(t, t.TempDir())
	k.prepare(t, n)
	file := filepath.Join(t.TempDir(), "trace")
	p := k.plugin(t, n, traceInto+file)
	p.run(t, p.call(k.verb, k.id))
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%s passed no point: %v", k.name, err)
	}
	return strings.Fields(string(data))
}

// numbered names each passing of a point apart: the second is "point#2".
func numbered(points []string) []string {
	seen := map[string]int{}
	var out []string
	for _, p := range points {
		seen[p]++
		if n := seen[p]; n > 1 {
			p = fmt.Sprintf("%s#%d", p, n)
		}
		out = append(out, p)
	}
	return out
}

// tracePoints are the points that each of the killables passes. Together they
// pass all that there are.
func tracePoints(t *testing.T) [][]string {
	t.Helper()
	passed := map[string]bool{}
	var all [][]string
	for _, k := range killables {
		points := k.trace(t)
		for _, point := range points {
			passed[point] = true
		}
		all = append(all, numbered(points))
	}
	if got := slices.Sorted(maps.Keys(passed)); !slices.Equal(got, killPoints) {
		t.Errorf("the calls pass\n%q\nwant\n%q", got, killPoints)
	}
	return all
}

// pointInSource is how a point stands in the source of bolt-local.
var pointInSource = regexp.MustCompile(`failpoint\.Hit\("([^"]+)"\)`)

func TestTheListOfKillPointsIsThatOfTheSource(t *testing.T) {
	out, err := exec.Command("go", "list", "-C", "../..", "-deps", "-f", "{{$dir := .Dir}}{{if not .Standard}}{{range .GoFiles}}{{$dir}}/{{.}}\n{{end}}{{end}}", "./cmd/bolt-local").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for file := range strings.Lines(string(out)) {
		source, err := os.ReadFile(strings.TrimSuffix(file, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pointInSource.FindAllSubmatch(source, -1) {
			found[string(m[1])] = true
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, killPoints) {
		t.Errorf("the source has\n%q\nwant\n%q", got, killPoints)
	}
}
