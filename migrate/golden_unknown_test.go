package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/record"
)

// What a newer version has left in state that this one may write is there when
// the newer one comes back.

// unknown is what this version does not know.
var unknown = map[string]func(*bolt.Tx) error{
	"a bucket at the root": func(tx *bolt.Tx) error {
		b, err := bucketAt(tx, "plans/2027")
		if err == nil {
			err = b.SetSequence(7)
		}
		return errors.Join(err, putAt(tx, "plans/2027", "a\x00\xff\"\\", "\x00\x01"), putAt(tx, "plans", "k", "v"))
	},
	"a bucket whose name is no text":  func(tx *bolt.Tx) error { return putAt(tx, "plans/\x00\xff\"\\\n", "k", "v") },
	"a bucket with nothing in it":     func(tx *bolt.Tx) error { _, err := bucketAt(tx, "plans/empty"); return err },
	"a bucket in meta":                func(tx *bolt.Tx) error { return putAt(tx, "meta/features/x", "k", "v") },
	"a key in meta":                   func(tx *bolt.Tx) error { return putAt(tx, "meta", "flags", "v") },
	"the stamp of another schema":     func(tx *bolt.Tx) error { return putAt(tx, "meta/stamp", "2", "12345678") },
	"a key among the networks":        func(tx *bolt.Tx) error { return putAt(tx, "networks", "index", "v") },
	"a bucket in a network":           func(tx *bolt.Tx) error { return putAt(tx, "networks/"+goldenNetwork+"/leases/x", "k", "v") },
	"a key in a network":              func(tx *bolt.Tx) error { return putAt(tx, "networks/"+goldenNetwork, "policy", "v") },
	"a network of which all is other": func(tx *bolt.Tx) error { return putAt(tx, "networks/othernet", "policy", "v") },
}

func TestWhatIsNotKnownIsLeftAlone(t *testing.T) {
	for _, name := range []string{"contract", "switch"} {
		t.Run(name, func(t *testing.T) {
			n := goldenOf(t, name).open(t)
			ours := readCheckpoint(t, ".")
			n.editAsOurs(func(tx *bolt.Tx) error {
				for what, edit := range unknown {
					if err := edit(tx); err != nil {
						return fmt.Errorf("%s: %w", what, err)
					}
				}
				return nil
			})
			before := readCheckpoint(t, ".")
			maps.DeleteFunc(before.keys, func(path, _ string) bool { _, known := ours.keys[path]; return known })
			maps.DeleteFunc(before.buckets, func(path string, _ uint64) bool { _, known := ours.buckets[path]; return known })
			if len(before.keys) < len(unknown)-1 {
				t.Fatalf("unknown keys: %q", before.keys)
			}
			n.everything()
			after := readCheckpoint(t, ".")
			for path, value := range before.keys {
				if got, there := after.keys[path]; !there || got != value {
					t.Errorf("%q was %q, is %q (%t)", path, value, got, there)
				}
			}
			for path, sequence := range before.buckets {
				if got, there := after.buckets[path]; !there || got != sequence {
					t.Errorf("bucket %q had the sequence %d, has %d (%t)", path, sequence, got, there)
				}
			}
		})
	}
}

// everything is all that may write, with success, in this boot and the next.
func (n *goldenNode) everything() {
	n.t.Helper()
	for _, boot := range []string{n.boot, goldenBootAfter} {
		n.boot = boot
		n.mustAdd("new-0", "")
		n.mustAdd("web-1", "")
		n.must(n.del("new-0", "eth0"))
		n.must(n.gc(record.Attachment{ContainerID: "web-1", IfName: "eth0"}))
		_, err := n.rollback(false)
		n.must(err)
		_, err = n.advance(true)
		n.must(err)
		n.sound()
	}
}

// later are fields of a newer version, as JSON.
const later = `{"lists":[[1,"a"],{}],"number":12345678901234567890,"text":"\u003c\u0000"}`

func addLater(doc map[string]any) { doc["later"] = json.RawMessage(later) }

func TestUnknownFieldsOfARecordAreKept(t *testing.T) {
	for _, name := range []string{"contract", "switch"} {
		t.Run(name, func(t *testing.T) {
			n := goldenOf(t, name).open(t)
			if name == "switch" {
				n.mustAdd("new-1", "") // the copied files have been taken over
			}
			n.editAsOurs(func(tx *bolt.Tx) error {
				return editRecords(tx, func(doc map[string]any) {
					addLater(doc)
					for _, h := range doc["holders"].([]any) {
						holder := h.(map[string]any)
						addLater(holder)
						for _, part := range []string{"netns", "pod"} {
							fields, _ := holder[part].(map[string]any)
							if fields == nil {
								fields = map[string]any{}
							}
							addLater(fields)
							holder[part] = fields
						}
					}
				})
			})
			before := readCheckpoint(t, ".").keys
			_, err := n.rollback(false) // writes every record that is alive
			n.must(err)
			_, err = n.advance(true)
			n.must(err)
			call := goldenCall("web-1", "eth0", goldenConf(goldenNetwork, ""))
			call.NetNS = "/var/run/netns/another" // renews what is known of it
			_, err = n.addWith(call)
			n.must(err)
			n.sound()

			rewritten := 0
			for path, value := range readCheckpoint(t, ".").keys {
				if what, _ := documentAt(path, value); what != "allocation" {
					continue
				}
				if value != before[path] {
					rewritten++
				}
				if got := strings.Count(value, later); got != 4 {
					t.Errorf("%q has %d of 4 unknown fields: %s", path, got, value[12:])
				}
			}
			if rewritten < 2 {
				t.Errorf("%d records were written anew", rewritten)
			}
		})
	}
}

func TestUnknownFieldsOfTheMigrationAreKept(t *testing.T) {
	for _, name := range []string{"contract", "switch", "expand", "legacy", "pending-contract", "pending-switch", "two-holders"} {
		t.Run(name, func(t *testing.T) {
			n := goldenOf(t, name).open(t)
			migrationEdit(addLater)(n)
			n.mustAdd("new-0", "expand")
			n.mustAdd("new-1", "switch")
			n.must(n.del("new-0", "eth0"))
			if doc := readCheckpoint(t, ".").keys["networks/"+goldenNetwork+"/migration"]; !strings.Contains(doc, `"later":`+later) {
				t.Errorf("the unknown field is not in %s", doc[4:])
			}
		})
	}
}
