package migrate

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/internal/failpoint"
	"github.com/bolt-local/bolt-local/migrate/engine"
)

var updateGolden = flag.String("update-golden", "", "write the golden state of this `release`, which must not be there yet")

const (
	goldenParent = "testdata/golden"
	goldenFile   = "expected.json" // of each case

	// goldenFirst is the oldest release, goldenNewest the one whose cases this
	// version still writes in the same way.
	goldenFirst  = "0.1.0"
	goldenNewest = "0.1.0"
)

// goldenCase is one state that a node may be in.
type goldenCase struct {
	name  string
	phase engine.Phase // that holds
	write func(*goldenNode)
}

// goldenCases is what each release writes.
var goldenCases = []goldenCase{
	{"contract", engine.Contract, func(n *goldenNode) { // never host-local's
		n.mustAdd("web-0", "")
		n.mustAdd("web-1", "")
		n.boot = goldenBootTwo
		n.mustAdd("web-1", "") // the same again
		n.mustAdd("web-2", "") // past an excluded address
		n.mustAdd("web-3", "")
		n.must(n.del("web-2", "eth0"))
	}},
	{"switch", engine.Switch, func(n *goldenNode) {
		n.hostLocal("10.1.0.2", "hl-0", "eth0", 0)
		n.hostLocal("fd00:1::2", "hl-0", "eth0", 1)
		n.mustAdd("web-0", "")
		n.boot = goldenBootTwo
		n.mustAdd("web-1", "")
		n.hostLocal("10.1.0.20", "hl-1", "eth0", 0)
		n.hostLocal("10.1.0.21", "hl-2", "", 0)
		n.write("10.1.0.9", "", 0o600)
		n.write("FD00:1::9", "hl-3", 0o600)
		n.mustAdd("web-2", "")
	}},
	{"expand", engine.Expand, func(n *goldenNode) {
		n.hostLocal("10.1.0.2", "hl-0", "eth0", 0)
		n.mustAdd("web-0", "legacy")
		n.mustAdd("web-1", "")
		n.boot = ""
		_, err := n.advance(false) // where the boot cannot be told, records have no number yet
		n.must(err)
		n.boot = goldenBootOne
	}},
	{"legacy", engine.Legacy, func(n *goldenNode) {
		n.hostLocal("10.1.0.2", "hl-0", "eth0", 0)
		n.hostLocal("10.1.0.3", "hl-1", "", 0)
		n.mustAdd("web-0", "legacy")
	}},
	{"pending-contract", engine.Switch, func(n *goldenNode) {
		n.mustAdd("web-0", "switch")
		n.mustAdd("web-1", "")
		n.cut("hostlocal.before-swap", func() error { _, err := n.advance(false); return err })
	}},
	{"pending-switch", engine.Contract, func(n *goldenNode) {
		n.mustAdd("web-0", "")
		n.mustAdd("web-1", "")
		n.cut("hostlocal.before-open", func() error { _, err := n.rollback(false); return err })
	}},
	{"two-holders", engine.Switch, func(n *goldenNode) {
		n.mustAdd("web-0", "switch")
		n.mustAdd("web-1", "switch")
		n.must(os.RemoveAll(filepath.Join(goldenNetworks, goldenNetwork))) // somebody wipes it,
		n.hostLocal("10.1.0.2", "hl-0", "eth0", 0)                         // and host-local runs
		n.mustAdd("web-2", "expand")
	}},
}

// cut ends a call at a point, as a kill does: nothing after it happens.
func (n *goldenNode) cut(point string, call func() error) {
	n.t.Helper()
	type killed struct{}
	before := failpoint.Hook
	failpoint.Hook = func(name string) {
		if name == point {
			panic(killed{})
		}
	}
	defer func() {
		failpoint.Hook = before
		if _, ok := recover().(killed); !ok {
			n.t.Fatalf("the call has not come to %s", point)
		}
	}()
	n.must(call())
}

// writeGoldenCase makes a case anew in a directory of its own, and what is seen
// of it there.
func writeGoldenCase(t *testing.T, c goldenCase, release string) (dir string, seen goldenDump) {
	t.Helper()
	dir = t.TempDir()
	for _, d := range goldenDirs {
		makeGoldenDir(t, filepath.Join(dir, d.name), d.mode)
	}
	n := newGoldenNode(t, dir, goldenBootOne, release)
	c.write(n)
	n.sound()
	return dir, n.dump()
}

// TestWriteGoldenState writes testdata/golden/<release>, once for each release:
//
//	go test ./migrate -run '^TestWriteGoldenState$' -update-golden 0.1.0
func TestWriteGoldenState(t *testing.T) {
	if *updateGolden == "" {
		t.Skip("no -update-golden")
	}
	parent, err := filepath.Abs(filepath.Join(goldenParent, *updateGolden))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(parent), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(parent, 0o755); err != nil {
		t.Fatalf("what a release has written is never written again: %v", err)
	}
	for _, c := range goldenCases {
		dir, seen := writeGoldenCase(t, c, *updateGolden)
		doc, err := json.MarshalIndent(seen, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		keepGolden(t, dir, filepath.Join(parent, c.name))
		writeGoldenFile(t, filepath.Join(parent, c.name, goldenFile), string(doc)+"\n", 0o644)
	}
}

func TestWhatIsWrittenTodayIsSeenAsInTheNewestGoldenState(t *testing.T) {
	expected := map[string]goldenDump{}
	for _, g := range goldens(t) {
		if g.release == goldenNewest {
			expected[g.name] = g.expected
		}
	}
	for _, c := range goldenCases {
		t.Run(c.name, func(t *testing.T) {
			_, seen := writeGoldenCase(t, c, goldenNewest)
			if diff := cmp.Diff(expected[c.name], seen, sameAddr); diff != "" {
				t.Errorf("seen (-golden +today):\n%s", diff)
			}
			if got := seen.Networks[0].Phase; got != c.phase {
				t.Errorf("phase %s, want %s", got, c.phase)
			}
		})
	}
}

// golden is one case of one release.
type golden struct {
	release, name string
	dir           string // absolute
	expected      goldenDump
}

// goldens are all of all releases.
func goldens(t *testing.T) []golden {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(goldenParent, "*", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no golden state in %s (%v)", goldenParent, err)
	}
	var all []golden
	for _, dir := range dirs {
		g := golden{release: filepath.Base(filepath.Dir(dir)), name: filepath.Base(dir)}
		if g.dir, err = filepath.Abs(dir); err != nil {
			t.Fatal(err)
		}
		doc, err := os.ReadFile(filepath.Join(dir, goldenFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(doc, &g.expected); err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		all = append(all, g)
	}
	return all
}

// goldenOf returns one case of the first release.
func goldenOf(t *testing.T, name string) golden {
	t.Helper()
	all := goldens(t)
	i := slices.IndexFunc(all, func(g golden) bool { return g.release == goldenFirst && g.name == name })
	if i < 0 {
		t.Fatalf("no golden state %s of %s", name, goldenFirst)
	}
	return all[i]
}

// open copies the case and returns a node in the copy, in the boot in which the
// case was written.
func (g golden) open(t *testing.T) *goldenNode {
	t.Helper()
	return newGoldenNode(t, copyGolden(t, g.dir), g.expected.Boot, "test")
}
