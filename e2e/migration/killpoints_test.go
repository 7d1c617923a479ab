package migration

import (
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
	"store.journal-replaced",
	"store.kept",
	"store.replaced",
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
