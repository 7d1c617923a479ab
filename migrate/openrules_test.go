package migrate

import (
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store"
)

// The open rules on state that 0.1.0 has written: what this version refuses
// and leaves alone, the next ones can rely on.

// refused are checkpoints that must not be written.
var refused = []struct {
	name string
	edit func(*goldenNode)
	code uint
	says string
}{
	{"a checkpoint without a format", byAnother(func(tx *bolt.Tx) error { return deleteAt(tx, "meta", "format") }),
		ipam.CodeForeignFormat, "meta/format is missing"},
	{"a checkpoint without the bucket meta", byAnother(func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("meta")) }),
		ipam.CodeForeignFormat, "meta/format is missing"},
	{"a format that is empty", formatIs(""), ipam.CodeForeignFormat, "meta/format"},
	{"a format that is no JSON", formatIs(`{"schema":`), ipam.CodeForeignFormat, "meta/format"},
	{"a format that is no object", formatIs(`[1]`), ipam.CodeForeignFormat, "meta/format"},
	{"a format without its numbers", formatIs(`{"writer":"0.1.0","id":"x"}`), ipam.CodeForeignFormat, "meta/format is not complete"},
	{"a format whose oldest writer is newer than itself", formatIs(`{"schema":1,"oldestWriter":2,"writer":"0.1.0","id":"x"}`),
		ipam.CodeForeignFormat, "meta/format is not complete"},
	{"a newer schema that only newer versions may write", func(n *goldenNode) { n.newer(2) },
		ipam.CodeForeignFormat, "install version 0.2.0 or a newer one"},
	{"a stamp that is behind", byAnother(func(tx *bolt.Tx) error { return putAt(tx, "plans", "k", "v") }),
		ipam.CodeDamaged, "was written by another program"},
	{"a stamp that is ahead", byAnother(func(tx *bolt.Tx) error { return putStamp(tx, tx.ID()+1) }),
		ipam.CodeDamaged, "was written by another program"},
	{"a stamp that is no number", byAnother(func(tx *bolt.Tx) error { return putAt(tx, "meta/stamp", "1", "1") }),
		ipam.CodeDamaged, "a number has 1 bytes"},
	{"a checkpoint without a stamp", byAnother(func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).DeleteBucket([]byte("stamp")) }),
		ipam.CodeDamaged, "has no stamp"},
	{"a phase that is not known", migrationEdit(func(doc map[string]any) { doc["phase"] = "verify" }),
		ipam.CodeForeignFormat, `does not know: "verify"`},
	{"a phase, but no place", migrationEdit(func(doc map[string]any) { delete(doc, "oldPath") }), ipam.CodeForeignFormat, `oldPath is ""`},
	{"a phase, and a place that is relative", migrationEdit(func(doc map[string]any) { doc["oldPath"] = "podnet" }), ipam.CodeForeignFormat, `oldPath is "podnet"`},
	{"beside its phase a list of another kind", migrationEdit(func(doc map[string]any) { doc["setAside"] = 1 }), ipam.CodeForeignFormat, "setAside"},
	{"no phase", migrationEdit(func(doc map[string]any) { delete(doc, "phase") }), ipam.CodeForeignFormat, `does not know: ""`},
	{"a swap to a phase that is not known", migrationEdit(func(doc map[string]any) { doc["pending"] = "verify" }),
		ipam.CodeForeignFormat, `pending "verify"`},
	{"a phase that is no text", migrationEdit(func(doc map[string]any) { doc["phase"] = 3 }), ipam.CodeForeignFormat, "does not know: phase is 3"},
	{"beside its phase a field of another kind", migrationEdit(func(doc map[string]any) { doc["epoch"] = "now" }),
		ipam.CodeForeignFormat, "does not know: epoch is now"},
}

func byAnother(fn func(*bolt.Tx) error) func(*goldenNode) {
	return func(n *goldenNode) { n.edit(fn) }
}

func formatIs(text string) func(*goldenNode) {
	return func(n *goldenNode) {
		n.editAsOurs(func(tx *bolt.Tx) error { return putAt(tx, "meta", "format", text) })
	}
}

func migrationEdit(fn func(map[string]any)) func(*goldenNode) {
	return func(n *goldenNode) { n.editAsOurs(func(tx *bolt.Tx) error { return editMigration(tx, fn) }) }
}

// newer makes the checkpoint one of schema 2.
func (n *goldenNode) newer(oldestWriter int) {
	n.t.Helper()
	n.editAsOurs(func(tx *bolt.Tx) error {
		err := editFormat(tx, func(doc map[string]any) {
			doc["schema"], doc["oldestWriter"], doc["writer"], doc["shape"] = 2, oldestWriter, "0.2.0", map[string]any{"pages": []int{1, 2}}
		})
		return errors.Join(err, putAt(tx, "meta/stamp", "2", "12345678"))
	})
}

func TestARefusalChangesNoByte(t *testing.T) {
	for _, rule := range refused {
		for _, name := range []string{"contract", "switch"} {
			t.Run(rule.name+" in "+name, func(t *testing.T) {
				g := goldenOf(t, name)
				n := g.open(t)
				rule.edit(n)
				deferred := filepath.Join("data", store.DeferredDir)
				before := treeHash(t, ".", deferred)
				for _, boot := range []string{n.boot, goldenBootAfter} {
					n.boot = boot
					for verb, err := range n.everyWriter() {
						wantRefusal(t, verb, err, rule.code, rule.says)
					}
					// A DEL waits for a version that may write, or for `repair`.
					for _, id := range []string{"web-1", "nobody"} {
						if err := n.del(id, "eth0"); err != nil {
							t.Errorf("DEL of %s: %v", id, err)
						}
					}
					if waiting := n.store().CountDeferred(); waiting != 2 {
						t.Errorf("%d DELs wait", waiting)
					}
					wantRefusal(t, "CHECK", n.check("web-1", "eth0"), rule.code, rule.says)
					wantRefusal(t, "STATUS", n.status(), ipam.CodeUnavailable, rule.says)
				}
				if after := treeHash(t, ".", deferred); after != before {
					t.Error("the tree has changed")
				}
			})
		}
	}
}

// everyWriter calls all that may write, but for DEL.
func (n *goldenNode) everyWriter() map[string]error {
	var err error
	errs := map[string]error{
		"GC": n.gc(),
	}
	_, errs["ADD"] = n.add("new-0", "eth0", "")
	_, errs["ADD with a target"] = n.add("new-0", "eth0", "legacy")
	_, errs["ADD again"] = n.add("web-1", "eth0", "")
	_, errs["migrate advance"] = n.advance(true)
	_, errs["migrate rollback"] = n.rollback(false)
	for _, verb := range []ipam.Verb{ipam.VerbOperatorGC, ipam.VerbRelease} {
		err = n.state(nil).Update(verb, goldenNetwork, func(tx ipam.Tx) error {
			n.t.Errorf("%s: the verb is let in", verb)
			return nil
		})
		errs["operator's "+string(verb)] = err
	}
	return errs
}

func wantRefusal(t *testing.T, verb string, err error, code uint, says string) {
	t.Helper()
	if err == nil || ipam.CodeOf(err) != code {
		t.Errorf("%s: %v (code %d), want code %d", verb, err, ipam.CodeOf(err), code)
		return
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("%s does not say %q: %v", verb, says, err)
	}
}

func TestWhatIsRefusedIsShownAllTheSame(t *testing.T) {
	for _, rule := range refused {
		t.Run(rule.name, func(t *testing.T) {
			n := goldenOf(t, "contract").open(t)
			want, _ := n.stored()
			rule.edit(n)
			got, problem := n.stored()
			if ofOneNetwork := strings.Contains(rule.name, "phase"); ofOneNetwork != (problem == nil) {
				t.Errorf("problem: %v", problem)
			}
			// Where the format cannot be read, this boot is not known, and all of
			// it may be alive.
			if rule.code == ipam.CodeForeignFormat && strings.Contains(rule.says, "meta/format") {
				for i := range want {
					want[i].State = goldenActive
					if strings.Contains(rule.name, "bucket meta") {
						want[i].BootID = ""
					}
				}
			}
			if diff := cmp.Diff(want, got, sameAddr); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPhaseThatIsNotKnownStopsItsOwnNetworkAlone(t *testing.T) {
	n := goldenOf(t, "contract").open(t)
	migrationEdit(func(doc map[string]any) { doc["phase"] = "verify" })(n)
	keys := func() map[string]string {
		c := readCheckpoint(t, ".").keys
		maps.DeleteFunc(c, func(path, _ string) bool { return !strings.HasPrefix(path, "networks/"+goldenNetwork+"/") })
		return c
	}
	before := keys()
	if _, err := n.addWith(goldenCall("other-0", "eth0", goldenConf("othernet", ""))); err != nil {
		t.Errorf("ADD in another network: %v", err)
	}
	n.verify()
	if diff := cmp.Diff(before, keys()); diff != "" {
		t.Errorf("the network has changed:\n%s", diff)
	}
}

func TestANewerSchemaThatThisVersionMayWriteStaysWhatItIs(t *testing.T) {
	for _, name := range []string{"contract", "switch"} {
		t.Run(name, func(t *testing.T) {
			n := goldenOf(t, name).open(t)
			n.newer(1)
			n.everything()
			var format store.Format
			n.must(n.store().Read(func(tx *store.Tx) error { format = tx.Format(); return nil }))
			if format.Schema != 2 || format.OldestWriter != 1 || format.Writer != n.writer {
				t.Errorf("format %+v", format)
			}
			c := readCheckpoint(t, ".")
			if !strings.Contains(c.keys["meta/format"], `"shape":{"pages":[1,2]}`) {
				t.Errorf("format %s", c.keys["meta/format"])
			}
			// So schema 2 sees that somebody has written who does not know it.
			if c.keys["meta/stamp/2"] != "12345678" {
				t.Errorf("stamp of schema 2: %q", c.keys["meta/stamp/2"])
			}
		})
	}
}
