package migrate

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/backfill"
)

// A backfill brings a network's ranges, and has not seen p, whom libcni's cache
// knows: its sandbox is not ready, its namespace is of other mounts than the agent's,
// or its ADD was under way. The first ADD asks the cache all the same.
func TestTheFirstAddAsksTheCacheAlsoAfterABackfill(t *testing.T) {
	for name, c := range map[string]struct {
		notReady     []string
		unseen, late bool
	}{
		"it is not ready":          {notReady: []string{"p"}},
		"it cannot be seen":        {unseen: true},
		"it comes after the round": {late: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			if !c.late {
				n.cached("podnet", "10.6.0.2", "p")
			}
			if !c.unseen {
				n.spaces["/ns/p"] = 77
			}
			n.fills(Backfill{
				Configs:  []*ipam.Config{n.config("podnet", "10.6.0.0/24", "")},
				Running:  []backfill.Sandbox{n.runs("b", "10.6.0.9")},
				NotReady: c.notReady,
				Complete: true,
			})
			n.spaces["/ns/p"] = 77
			n.cached("podnet", "10.6.0.2", "p")
			if got := n.mustAdd("podnet", "", "c"); got == netip.MustParseAddr("10.6.0.2") {
				t.Errorf("%s of p, which lives, is given to c", got)
			}
		})
	}
}

// The disk of the data directory is mounted late: a pod was started before, in a
// checkpoint that nobody sees any more.
func TestTheFirstAddOfABootAsksTheCache(t *testing.T) {
	n := newAiling(t)
	n.mustAdd("podnet", "", "a")
	if err := os.Rename(n.dir, n.dir+".disk"); err != nil {
		t.Fatal(err)
	}
	n.boot = "boot-000002"
	n.ended("a")
	b := n.mustAdd("podnet", "", "b")
	n.cached("podnet", b.String(), "b")
	if err := errors.Join(os.Rename(n.dir, n.dir+".below"), os.Rename(n.dir+".disk", n.dir)); err != nil {
		t.Fatal(err)
	}
	call := n.call("podnet", "", "c")
	call.Args = "IP=" + b.String()
	if _, err := n.plugin().Add(call); ipam.CodeOf(err) != ipam.CodeRequestedTaken {
		t.Errorf("ADD of %s, which b has, who lives: %v", b, err)
	}
}

// What was excluded may be another plugin's, as what lay outside of all ranges.
func TestAnAddThatEndsAnExclusionAsksTheCache(t *testing.T) {
	for name, exclude := range map[string]struct{ before, after string }{
		"it has gone":    {`"exclude":["10.6.0.8"],`, ""},
		"it is narrower": {`"exclude":["10.6.0.8/31"],`, `"exclude":["10.6.0.9/32"],`},
	} {
		t.Run(name, func(t *testing.T) {
			n := newAiling(t)
			add := func(exclude, id, args string) error {
				call := n.call("podnet", "", id)
				call.Args = args
				call.Stdin = bytes.Replace(call.Stdin, []byte(`{"subnet"`), []byte("{"+exclude+`"subnet"`), 1)
				_, err := n.plugin().Add(call)
				return err
			}
			if err := add(exclude.before, "a", ""); err != nil {
				t.Fatal(err)
			}
			n.spaces["/ns/s"] = 77
			n.cached("podnet", "10.6.0.8", "s")
			if err := add(exclude.after, "b", "IP=10.6.0.8"); ipam.CodeOf(err) != ipam.CodeRequestedTaken {
				t.Errorf("ADD of 10.6.0.8, which s has, who lives: %v", err)
			}
		})
	}
}
