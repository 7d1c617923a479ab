package migrate

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
)

// The first pods of a node start together. What one of them has just made must
// not be taken by another, which looked before, for the rest of something lost.
func TestTheFirstCallsOfANodeComeAtOnce(t *testing.T) {
	for round := range 40 {
		first := newAiling(t)
		calls := map[string]func(n *ailing, id string) error{
			"ADD":    func(n *ailing, id string) error { return second(n.add("podnet", "", id)) },
			"DEL":    func(n *ailing, id string) error { return n.plugin().Del(n.call("podnet", "", id)) },
			"STATUS": func(n *ailing, id string) error { return n.plugin().Status(n.call("podnet", "", id)) },
			"status": func(n *ailing, _ string) error { return n.state(nil).Lost() },
			"dump":   func(n *ailing, _ string) error { return n.state(nil).Store.Read(func(*store.Tx) error { return nil }) },
		}
		var group sync.WaitGroup
		for name, call := range calls {
			for i := range 3 {
				id := fmt.Sprintf("%s-%d", name, i)
				n := *first
				n.spaces, n.warned = livingSpaces{}, nil
				group.Go(func() {
					for range 5 {
						if err := call(&n, id); err != nil {
							t.Errorf("round %d: %s: %v", round, name, err)
							return
						}
					}
				})
			}
		}
		group.Wait()
		if got, _ := first.held("podnet"); len(got) != 3 || t.Failed() {
			t.Fatalf("round %d: held: %v", round, got)
		}
	}
}

// The same, with the other's ADD exactly where one asks for the boot.
func TestACheckpointThatIsMadeMeanwhileIsNotLost(t *testing.T) {
	for name, call := range map[string]func(n *ailing, s State) error{
		"DEL": func(n *ailing, s State) error {
			p := n.plugin()
			p.Open = func(cfg *ipam.Config) ipam.State { s.Config = cfg; return s }
			return p.Del(n.call("podnet", "", "late"))
		},
		"ADD": func(n *ailing, s State) error {
			p := n.plugin()
			p.Open = func(cfg *ipam.Config) ipam.State { s.Config = cfg; return s }
			return second(p.Add(n.call("podnet", "", "late")))
		},
		"STATUS": func(n *ailing, s State) error {
			p := n.plugin()
			p.Open = func(cfg *ipam.Config) ipam.State { s.Config = cfg; return s }
			return p.Status(n.call("podnet", "", "late"))
		},
		"status": func(_ *ailing, s State) error { return s.Lost() },
		"dump":   func(_ *ailing, s State) error { return s.Store.Lost() },
	} {
		for at := range 3 {
			n := newAiling(t)
			asked := 0
			opts := store.Options{LockTimeout: 10 * time.Second, Warn: func(string) {}, BootID: func() string {
				if asked++; asked == 1+at {
					n.mustAdd("podnet", "", "first")
				}
				return n.boot
			}}
			s := n.state(nil)
			s.Store = store.New(n.dir, opts)
			if err := call(n, s); err != nil {
				t.Errorf("%s, at %d: %v", name, at, err)
			}
			if waits, err := filepath.Glob(n.file(store.DeferredDir, "*")); err != nil || len(waits) > 0 {
				t.Errorf("%s, at %d: waits for a repair: %q, %v", name, at, waits, err)
			}
			if asked == 0 {
				t.Errorf("%s: nobody came between: this shows nothing", name)
			}
		}
	}
}
