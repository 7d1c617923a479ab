package engine_test

import (
	"errors"
	"testing"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// A newer version has left the network in a phase of its own.
func TestAPhaseOfANewerVersionIsRefusedAndNothingIsChanged(t *testing.T) {
	casesOnPairs(t, map[string]string{
		"phase":   `{"phase":"reverse","oldPath":"$","later":1}`,
		"pending": `{"phase":"switch","pending":"reverse","oldPath":"$","later":1}`,
	}, func(t *testing.T, n *node, doc string) {
		n.target = engine.Switch
		n.older("x", "10.0.0.2")
		n.mustAdd("a")
		n.write(func(tx form.New) error { return tx.SetMigration([]byte(doc)) })
		before := n.tree()
		for name, call := range map[string]func() error{
			"ADD":      func() error { _, err := n.add("b"); return err },
			"DEL":      func() error { return n.del("a") },
			"GC":       func() error { return n.gc() },
			"advance":  func() error { return n.step(1, true) },
			"rollback": func() error { return n.step(-1, true) },
			"View": func() error {
				return n.pair.New.Read(func(tx form.New) error {
					return n.engine().View(tx, n.engineCall(nil), func(engine.View) error { return nil })
				})
			},
		} {
			if err := call(); !errors.Is(err, engine.ErrPhase) {
				t.Errorf("%s: %v", name, err)
			}
			n.wantHeld("the files after "+name, n.tree(), before)
		}
	})
}
