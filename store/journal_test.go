package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
)

var errTest = errors.New("test")

// replay reads the journal into a map of path and key to value.
func (n *node) replay() (journalHeader, map[string]string) {
	n.t.Helper()
	var h journalHeader
	content := map[string]string{}
	for i, line := range bytes.SplitAfter(n.read(JournalFile), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		doc, _, err := parseJournalLine(line)
		if err != nil {
			n.t.Fatalf("line %d: %v", i+1, err)
		}
		if i == 0 {
			if err := json.Unmarshal(doc, &h); err != nil {
				n.t.Fatal(err)
			}
			continue
		}
		var e journalEntry
		if err := json.Unmarshal(doc, &e); err != nil {
			n.t.Fatal(err)
		}
		for _, c := range e.Changes {
			key := strings.Join(c.Path, "/") + "/" + string(c.Key)
			if c.Value == nil {
				delete(content, key)
			} else {
				content[key] = string(c.Value)
			}
		}
	}
	return h, content
}

func (n *node) content() map[string]string {
	n.t.Helper()
	content := map[string]string{}
	err := n.Read(func(tx *Tx) error {
		var walk func(path string, b *bolt.Bucket) error
		walk = func(path string, b *bolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				if v == nil {
					return walk(path+"/"+string(k), b.Bucket(k))
				}
				content[path+"/"+string(k)] = string(v)
				return nil
			})
		}
		return tx.bolt.ForEach(func(name []byte, b *bolt.Bucket) error { return walk(string(name), b) })
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return content
}

func (n *node) journalIsComplete() {
	n.t.Helper()
	h, got := n.replay()
	if h.Journal != journalFormat || h.Checkpoint == "" {
		n.t.Errorf("header %+v", h)
	}
	if diff := cmp.Diff(n.content(), got); diff != "" {
		n.t.Errorf("the journal differs from the checkpoint (-checkpoint +journal):\n%s", diff)
	}
}

func TestTheJournalTellsAllThatTheCheckpointHolds(t *testing.T) {
	n := newNode(t)
	for i := range 10 {
		n.add(addrAt(i), "c")
		n.journalIsComplete()
	}
	size := len(n.read(JournalFile))
	n.del(addrAt(3))
	n.add(addrAt(4), "d")
	n.journalIsComplete()
	if grown := len(n.read(JournalFile)); grown <= size {
		t.Errorf("the journal was not appended to: %d bytes, then %d", size, grown)
	}
}

func TestAJournalThatIsNotWholeIsReplaced(t *testing.T) {
	for name, damage := range map[string]func(n *node){
		"torn": func(n *node) { b := n.read(JournalFile); n.write(JournalFile, b[:len(b)-5]) },
		"a line behind": func(n *node) {
			b := n.read(JournalFile)
			n.write(JournalFile, b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1])
		},
		"empty":           func(n *node) { n.write(JournalFile, nil) },
		"not a journal":   func(n *node) { n.write(JournalFile, []byte("hello\n")) },
		"missing":         func(n *node) { _ = os.Remove(n.file(JournalFile)) },
		"of another boot": func(n *node) { n.boot = "boot-002" },
		"of another boot's other file": func(n *node) {
			other := newNode(n.t)
			other.boot = "boot-000"
			other.add("10.0.0.2", "x")
			n.write(JournalFile, other.read(JournalFile))
		},
		"longer than need": func(n *node) { n.stuff() },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodeWith(t, 3)
			damage(n)
			n.add("10.9.9.9", "z")
			n.journalIsComplete()
			if h, _ := n.replay(); h.BootID != n.boot {
				t.Errorf("header of %q, want %q", h.BootID, n.boot)
			}
			if size := len(n.read(JournalFile)); size > journalMinLimit {
				t.Errorf("it still has %d bytes", size)
			}
		})
	}
}

func newNodeWith(t *testing.T, count int) *node {
	n := newNode(t)
	for i := range count {
		n.add(addrAt(i), "c")
	}
	return n
}

// stuff makes the journal longer than it may get, with whole lines.
func (n *node) stuff() {
	b := n.read(JournalFile)
	last := b[bytes.LastIndexByte(b[:len(b)-1], '\n')+1:]
	for len(b) < 2*journalMinLimit {
		b = append(b, last...)
	}
	n.write(JournalFile, b)
}

func TestAJournalThatCannotBeWrittenIsRemovedAndTold(t *testing.T) {
	n := newNodeWith(t, 1)
	// Something in the way of the temporary file, and a torn journal.
	if err := os.MkdirAll(n.file(newJournalFile)+"/x", 0o700); err != nil {
		t.Fatal(err)
	}
	n.write(JournalFile, []byte("torn"))
	n.add("10.9.9.9", "z")
	if _, err := os.Stat(n.file(JournalFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal is still there: %v", err)
	}
	if len(n.warn) != 1 || !strings.Contains(n.warn[0], JournalFile) {
		t.Errorf("warnings: %q", n.warn)
	}
	if len(n.held()) != 2 {
		t.Error("the verb did not go on")
	}
}

func TestAJournalAheadOfTheFileIsDamage(t *testing.T) {
	n := newNodeWith(t, 3)
	old := n.read(CheckpointFile)
	n.add("10.9.9.9", "z")
	n.write(CheckpointFile, old)
	n.write(LockFile, nil) // so that only the journal knows
	if err := n.update(opAdd, func(net *Network) error { return net.Put(allocation(1, "10.9.9.8", "y")) }); !errors.Is(err, ErrDamaged) {
		t.Errorf("err = %v", err)
	}
}

func TestJournalLines(t *testing.T) {
	line := journalLine([]byte(`{"a b":1}`), 17)
	doc, tx, err := parseJournalLine(line)
	if err != nil || string(doc) != `{"a b":1}` || tx != 17 {
		t.Fatalf("%s %d %v", doc, tx, err)
	}
	for i := range line[:len(line)-1] {
		bad := bytes.Clone(line)
		bad[i] ^= 1
		if _, _, err := parseJournalLine(bad); !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
}

func TestJournalEntriesAreJSON(t *testing.T) {
	for _, e := range []journalEntry{
		{Verb: "ADD", Changes: []change{
			{Path: []string{"networks", "podnet", "cursors"}, Key: []byte("10.0.0.1-10.0.0.9"), Value: []byte{0, 255}},
			{Path: []string{"meta"}, Key: []byte{0}, Value: []byte{}},
			{Path: []string{"meta"}, Key: []byte("format")},
		}},
		{Verb: verbSnapshot, Changes: []change{}},
	} {
		want, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(e.encode()); got != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Whether the last line is whole is read from the end, however long the rest is.
func TestTheLastLineIsReadFromTheEnd(t *testing.T) {
	whole := string(journalLine([]byte(`{"verb":"ADD"}`), 7))
	long := string(journalLine([]byte(`"`+strings.Repeat("x", 100<<10)+`"`), 8))
	for name, c := range map[string]struct {
		content string
		whole   bool
	}{
		"nothing":                    {"", false},
		"one line":                   {whole, true},
		"one that is torn":           {whole[:len(whole)-4], false},
		"without its newline":        {whole[:len(whole)-1], true},
		"behind others":              {long + whole + whole, true},
		"a long one behind":          {whole + long, true},
		"a torn long one behind":     {whole + long[:len(long)/2], false},
		"a torn one behind":          {long + whole[:len(whole)-4], false},
		"whole, and before that not": {whole[:5] + "\n" + whole, true},
	} {
		path := filepath.Join(t.TempDir(), JournalFile)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := lastLineIsWhole(path); got != c.whole {
			t.Errorf("%s: %t, want %t", name, got, c.whole)
		}
	}
}

// What lies before the last line is not read: it may be as long as it wants.
func TestALongJournalIsNotReadForItsLastLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), JournalFile)
	line := journalLine([]byte(`{}`), 7)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const hole = 1 << 40
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(append([]byte("\n"), line...), hole)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Skipf("no file of that length: %v", err)
	}
	if !lastLineIsWhole(path) {
		t.Error("it is not whole")
	}
}

func TestAJournalThatCannotBeRemovedEitherIsTold(t *testing.T) {
	n := newNodeWith(t, 1)
	// Directories that are not empty, in both places.
	if err := errors.Join(os.Remove(n.file(JournalFile)), os.MkdirAll(n.file(JournalFile)+"/x", 0o700)); err != nil {
		t.Fatal(err)
	}
	n.journalWritten(errTest)
	if len(n.warn) != 1 || strings.Contains(n.warn[0], "was removed") || !strings.Contains(n.warn[0], "nor removed") {
		t.Errorf("warnings: %q", n.warn)
	}
}
