package migrate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/crc32c"
)

// What a newer version may have left in the files beside the checkpoint.

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// journal returns the documents of the journal's lines, each of which has to be
// whole.
func (n *goldenNode) journal() []map[string]any {
	n.t.Helper()
	var docs []map[string]any
	for line := range strings.Lines(readFile(n.t, filepath.Join(goldenData, store.JournalFile))) {
		line = strings.TrimSuffix(line, "\n")
		end := strings.LastIndex(line, " ") + 1
		body, sum := line[:max(0, end-1)], line[end:]
		var doc map[string]any
		err := json.NewDecoder(strings.NewReader(body)).Decode(&doc)
		if err != nil || sum != fmt.Sprintf("%08x", crc32c.Sum([]byte(body))) {
			n.t.Errorf("a line of the journal: %v, checksum %s: %.300q", err, sum, line)
		}
		docs = append(docs, doc)
	}
	return docs
}

// editJournalHeader rewrites the journal's first line.
func (n *goldenNode) editJournalHeader(fn func(map[string]any)) {
	n.t.Helper()
	path := filepath.Join(goldenData, store.JournalFile)
	first, rest, _ := strings.Cut(readFile(n.t, path), "\n")
	end := strings.LastIndex(first, "}") + 1
	var fields map[string]any
	n.must(json.Unmarshal([]byte(first[:end]), &fields))
	fn(fields)
	doc, err := json.Marshal(fields)
	n.must(err)
	tx, _, _ := strings.Cut(strings.TrimPrefix(first[end:], " "), " ")
	line := fmt.Sprintf("%s %s", doc, tx)
	line = fmt.Sprintf("%s %08x\n", line, crc32c.Sum([]byte(line)))
	writeGoldenFile(n.t, path, line+rest, 0o600)
}

func TestAnUnknownFieldOfTheJournalStaysAsLongAsTheJournal(t *testing.T) {
	n := goldenOf(t, "contract").open(t)
	n.editJournalHeader(addLater)
	lines := len(n.journal())
	n.mustAdd("new-0", "")
	docs := n.journal()
	if _, kept := docs[0]["later"]; !kept || len(docs) != lines+1 || docs[lines]["verb"] != "ADD" {
		t.Errorf("%d lines, were %d; the first: %v", len(docs), lines, docs[0])
	}
}

func TestAJournalOfANewerFormatIsWrittenAnew(t *testing.T) {
	n := goldenOf(t, "contract").open(t)
	n.editJournalHeader(func(doc map[string]any) { doc["journal"] = 2; addLater(doc) })
	n.mustAdd("new-0", "")
	docs := n.journal()
	if _, kept := docs[0]["later"]; kept || fmt.Sprint(docs[0]["journal"]) != "1" || docs[1]["verb"] != "snapshot" {
		t.Errorf("the journal begins with %v, %v", docs[0], docs[1]["verb"])
	}
}

func TestTheJournalHasWhatIsNotKnownToo(t *testing.T) {
	n := goldenOf(t, "contract").open(t)
	n.editAsOurs(func(tx *bolt.Tx) error { return putAt(tx, "plans/2027", "a\x00\xff\"\\", "v") })
	n.mustAdd("new-0", "")
	snapshot := n.journal()[1]
	changes := fmt.Sprint(snapshot["changes"])
	if snapshot["verb"] != "snapshot" || !strings.Contains(changes, "path:[plans 2027]") {
		t.Errorf("%s: %s", snapshot["verb"], changes)
	}
}

func TestALockFileOfANewerFormatIsWrittenAnew(t *testing.T) {
	n := goldenOf(t, "contract").open(t)
	path := filepath.Join(goldenData, store.LockFile)
	writeGoldenFile(t, path, "bolt-local 2 "+strings.Repeat("x", 200)+"\n", 0o600)
	n.mustAdd("new-0", "")
	if got := readFile(t, path); !strings.HasPrefix(got, "bolt-local 1 "+n.boot) {
		t.Errorf("the lock file says %q", got)
	}
	n.mustAdd("new-1", "")
}

func TestATombstoneOfANewerFormatIsLeftAlone(t *testing.T) {
	n := goldenOf(t, "contract").open(t)
	path := filepath.Join(goldenNetworks, goldenNetwork)
	newer := strings.Replace(readFile(t, path), "bolt-local-tombstone 1", "bolt-local-tombstone 2", 1)
	writeGoldenFile(t, path, newer, 0o644)
	n.boot = goldenBootAfter
	n.mustAdd("new-0", "")
	if got := n.dump().Networks[0].Phase; got != engine.Contract {
		t.Errorf("phase %s", got)
	}
	if got := readFile(t, path); got != newer {
		t.Errorf("the tombstone says %q", got)
	}
}

func TestUnknownFilesAreLeftAlone(t *testing.T) {
	for _, name := range []string{"contract", "switch"} {
		t.Run(name, func(t *testing.T) {
			n := goldenOf(t, name).open(t)
			others := []string{"data/plans", "data/checkpoint.db.damaged-20270101", "data/.new", "networks/.other", "networks/othernet"}
			if name == "switch" {
				others = append(others, "networks/podnet/plans", "networks/podnet/last_reserved_ip.x")
			}
			for _, path := range others {
				writeGoldenFile(t, path, "later", 0o640)
			}
			n.everything()
			for _, path := range others {
				info, err := os.Stat(path)
				if err != nil || info.Mode() != 0o640 || readFile(t, path) != "later" {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
}
