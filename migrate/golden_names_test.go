package migrate

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

// What stands in this file is on the disks of nodes, and a change is a new
// schema. Two more lists are in package store (layout_test.go: the keys and the
// document of the ranges, byte by byte) and in package record (codec_test.go:
// an allocation, byte by byte).

// namesOnDisk is what all cases together have: files with their modes, buckets
// and keys, and the names in JSON.
var namesOnDisk = []string{
	"file data drwx------",
	"file data/checkpoint.db -rw-------",
	"file data/deferred drwx------",
	"file data/journal -rw-------",
	"file data/lock -rw-------",
	"file networks drwxr-xr-x",
	"file networks/.bolt-local-<network> -rw-r--r--",
	"file networks/.bolt-local-<network> drwxr-xr-x",
	"file networks/.bolt-local-<network>/<address> -rw-------",
	"file networks/.bolt-local-<network>/last_reserved_ip.<set> -rw-------",
	"file networks/.bolt-local-<network>/lock -rwxr-x---",
	"file networks/<network> -rw-r--r--",
	"file networks/<network> drwxr-xr-x",
	"file networks/<network>/<address> -rw-------",
	"file networks/<network>/last_reserved_ip.<set> -rw-------",
	"file networks/<network>/lock -rwxr-x---",

	"key meta/commit",
	"key meta/epochs/<boot>",
	"key meta/format",
	"key meta/stamp/1",
	"key meta/unnumbered/<network>\x00<address>",
	"key networks/<network>/allocations/<address>",
	"key networks/<network>/attachments/<id>\x00<ifname>\x00<address>",
	"key networks/<network>/cursors/<range set>",
	"key networks/<network>/migration",
	"key networks/<network>/ranges",

	"allocation .holders[].allocatedAt",
	"allocation .holders[].bootTimeNs",
	"allocation .holders[].containerID",
	"allocation .holders[].ifname",
	"allocation .holders[].mark",
	"allocation .holders[].netns.inode",
	"allocation .holders[].netns.mountNS",
	"allocation .holders[].netns.path",
	"allocation .holders[].origin",
	"allocation .holders[].pod.infraContainerID",
	"allocation .holders[].pod.name",
	"allocation .holders[].pod.namespace",
	"allocation .holders[].pod.uid",
	"allocation .holders[].unknown[]",

	"format .created",
	"format .id",
	"format .oldestWriter",
	"format .schema",
	"format .writer",

	"migration .epoch",
	"migration .oldPath",
	"migration .pending",
	"migration .phase",
	"migration .place",
	"migration .setAside[].epoch",
	"migration .setAside[].fixed",
	"migration .setAside[].ip",
	"migration .setAside[].mark",
	"migration .stamp",
	"migration .target",
	"migration .waits",

	"ranges [][].exclude[]",
	"ranges [][].gateway",
	"ranges [][].rangeEnd",
	"ranges [][].rangeStart",
	"ranges [][].subnet",

	"journal's first line .bootID",
	"journal's first line .checkpoint",
	"journal's first line .journal",
	"journal's line .changes[].key",
	"journal's line .changes[].path[]",
	"journal's line .changes[].value",
	"journal's line .keys",
	"journal's line .verb",
	"journal's verb ADD",
	"journal's verb DEL",
	"journal's verb migrate",
	"journal's verb snapshot",
	"journal's verb snapshot-end",
}

// namesAdded are those that came after the golden state was written: a binary that
// does not know them keeps them.
var namesAdded = []string{
	"migration .asked",
	"migration .setAside[].name",
}

func TestTheNamesOnDiskAreThoseOf010(t *testing.T) {
	written, kept := namesSeen{}, namesSeen{}
	for _, g := range goldens(t) { // before the working directory is another
		if g.release == goldenFirst {
			kept.addTree(t, copyGolden(t, g.dir))
		}
	}
	for _, c := range goldenCases {
		dir, _ := writeGoldenCase(t, c, "test")
		written.addTree(t, dir)
	}
	want := slices.Sorted(slices.Values(namesOnDisk))
	today := slices.Sorted(slices.Values(slices.Concat(namesOnDisk, namesAdded)))
	if diff := cmp.Diff(today, written.sorted()); diff != "" {
		t.Errorf("written today (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, kept.sorted()); diff != "" {
		t.Errorf("in the golden state (-want +got):\n%s", diff)
	}
}

// textsOnDisk are the shapes of what is no JSON, and of some texts in JSON.
var textsOnDisk = map[string]*regexp.Regexp{
	"lock":          regexp.MustCompile(`^bolt-local 1 [0-9a-f-]{36} [0-9a-f]{32} [1-9][0-9]* +[0-9a-f]{8}\n$`),
	"journal line":  regexp.MustCompile(`^\{.*\} [1-9][0-9]* [0-9a-f]{8}$`),
	"tombstone":     regexp.MustCompile(`(?s)\nbolt-local-tombstone 1\nnetwork: podnet\ndata directory: /proc/self/cwd/data\nboot: [0-9a-f-]{36}\n$`),
	"holder's mark": regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]{18}$`),             // inode:change time in ns
	"place":         regexp.MustCompile(`^[1-9][0-9]*/[1-9][0-9]*:[1-9][0-9]{18}$`), // directory's inode/mark of lock
	"stamp":         regexp.MustCompile(`^[0-9a-f]{32}$`),                           // FNV-1a, 128 bits
	"commit":        regexp.MustCompile(`^[0-9a-f]{32}$`),
	"checkpoint id": regexp.MustCompile(`^[0-9a-f]{32}$`),
}

func TestTheTextsOnDiskAreThoseOf010(t *testing.T) {
	seen := map[string]int{}
	check := func(what, text string) {
		seen[what]++
		if !textsOnDisk[what].MatchString(text) {
			t.Errorf("%s: %q", what, text)
		}
	}
	for _, g := range goldens(t) {
		dir := copyGolden(t, g.dir)
		for path, content := range readTree(t, dir) {
			switch {
			case path == "data/lock":
				check("lock", content)
			case path == "data/journal":
				for line := range strings.Lines(content) {
					check("journal line", strings.TrimSuffix(line, "\n"))
				}
			case filepath.Dir(path) == "networks":
				check("tombstone", content)
			}
		}
		for path, value := range readCheckpoint(t, dir).keys {
			switch what, doc := documentAt(path, value); what {
			case "format":
				check("checkpoint id", fmt.Sprint(doc.(map[string]any)["id"]))
			case "migration":
				for _, field := range []string{"place", "stamp"} {
					if text, ok := doc.(map[string]any)[field]; ok {
						check(field, text.(string))
					}
				}
			case "allocation":
				for _, h := range doc.(map[string]any)["holders"].([]any) {
					if mark, ok := h.(map[string]any)["mark"]; ok {
						check("holder's mark", mark.(string))
					}
				}
			}
			if path == "meta/commit" {
				check("commit", value)
			}
		}
	}
	for what := range textsOnDisk {
		if seen[what] == 0 {
			t.Errorf("no %s is seen", what)
		}
	}
}

func TestTheWordsAndNumbersOnDiskAreThoseOf010(t *testing.T) {
	for want, got := range map[string]any{
		"1": store.Schema, "undo": store.UndoFile,
		"legacy": engine.Legacy, "expand": engine.Expand, "switch": engine.Switch, "contract": engine.Contract,
		"add": record.OriginAdd, "host-local": record.OriginHostLocal, "cni-cache": record.OriginCNICache,
		"cri": record.OriginCRI,
	} {
		if fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	for _, g := range goldens(t) {
		keys := readCheckpoint(t, copyGolden(t, g.dir)).keys
		if format := keys["meta/format"]; !strings.HasPrefix(format, `{"schema":1,"oldestWriter":1,"writer":"`+g.release+`",`) {
			t.Errorf("%s: format %s", g.name, format)
		}
	}
}
