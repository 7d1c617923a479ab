package store

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

// journalLines are the lines of sixHeld's journal, with their newlines.
func journalLines(t testing.TB, n *node) [][]byte {
	t.Helper()
	lines := bytes.SplitAfter(n.read(JournalFile), []byte("\n"))
	return lines[:len(lines)-1]
}

// held are the addresses that a replayed content has in podnet.
func (r replay) held() int {
	if r.content == nil {
		return -1
	}
	return len(r.content.at(bucketNetworks, "podnet", bucketAllocations).eachValue())
}

func TestAJournalIsReplayedAsFarAsItGoes(t *testing.T) {
	n := sixHeld(t)
	all := journalLines(t, n)
	last := len(all) - 1
	// header, snapshot of the first ADD, its end, five ADDs
	if len(all) != 8 {
		t.Fatalf("%d lines", len(all))
	}
	for name, c := range map[string]struct {
		lines  [][]byte
		held   int
		whole  bool
		torn   bool
		broken string
		none   bool
	}{
		"whole":                     {lines: all, held: 6, whole: true},
		"without its last":          {lines: all[:last], held: 5, whole: true},
		"its last cut":              {lines: append(all[:last:last], all[last][:20]), held: 5, whole: true, torn: true},
		"its last without newline":  {lines: append(all[:last:last], all[last][:len(all[last])-1]), held: 5, whole: true, torn: true},
		"its last spoilt":           {lines: append(all[:last:last], flipped(all[last])), held: 5, whole: true, torn: true},
		"one in the middle spoilt":  {lines: replaced(all, 5, flipped(all[5])), held: 5, whole: true, broken: "checksum"},
		"one missing":               {lines: slices.Delete(slices.Clone(all), 5, 6), held: 5, whole: true, broken: "lines are missing"},
		"one twice":                 {lines: slices.Insert(slices.Clone(all), 5, all[5]), held: 6, whole: true, broken: "lines are missing"},
		"the last but one missing":  {lines: slices.Delete(slices.Clone(all), last-1, last), held: 5, whole: true, broken: "lines are missing"},
		"two in another order":      {lines: replaced(replaced(all, 5, all[6]), 6, all[5]), held: 6, whole: true, broken: "lines are missing"},
		"a snapshot without end":    {lines: all[:2], held: 1},
		"a snapshot without parts":  {lines: slices.Delete(slices.Clone(all), 1, 2), held: 5, broken: "lines are missing"},
		"a header alone":            {lines: all[:1]},
		"a header cut":              {lines: [][]byte{all[0][:20]}, none: true},
		"a header spoilt":           {lines: replaced(all, 0, flipped(all[0])), none: true},
		"no header":                 {lines: all[1:], none: true},
		"a header of a later form":  {lines: replaced(all, 0, journalLine([]byte(`{"journal":2,"bootID":"boot-001","checkpoint":"x"}`), 3)), none: true},
		"empty":                     {none: true},
		"an empty line":             {lines: slices.Insert(slices.Clone(all), 5, []byte("\n")), held: 6, whole: true, broken: "checksum"},
		"a line too long to be one": {lines: append(slices.Clone(all), bytes.Repeat([]byte("x"), 1<<20), []byte("\n")), held: 6, whole: true, torn: true},
	} {
		t.Run(name, func(t *testing.T) {
			n.write(JournalFile, bytes.Join(c.lines, nil))
			r, err := readJournal(n.file(JournalFile))
			if errors.Is(err, errNoJournal) != c.none || err != nil && !c.none {
				t.Fatalf("error %v", err)
			}
			if c.none {
				return
			}
			if r.held() != c.held || r.whole != c.whole || r.torn != c.torn {
				t.Errorf("%d held, whole %v, torn %v; want %d, %v, %v", r.held(), r.whole, r.torn, c.held, c.whole, c.torn)
			}
			if (r.broken != nil) != (c.broken != "") || r.broken != nil && !strings.Contains(r.broken.Error(), c.broken) {
				t.Errorf("broken: %v, want %q", r.broken, c.broken)
			}
		})
	}
}

func flipped(line []byte) []byte {
	b := bytes.Clone(line)
	b[len(b)/2] ^= 2
	return b
}

func replaced(lines [][]byte, i int, line []byte) [][]byte {
	all := slices.Clone(lines)
	all[i] = line
	return all
}

func TestAJournalThatIsNoFileIsNone(t *testing.T) {
	if _, err := readJournal(t.TempDir()); !errors.Is(err, errNoJournal) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := readJournal(filepath.Join(t.TempDir(), "journal")); !errors.Is(err, errNoJournal) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

// FuzzReplay: whatever a journal holds, it is read to its end or to what is
// wrong, and a checkpoint made of it is sound or not put in place. Each line of the
// input is a transaction id and a document; it gets its checksum here.
func FuzzReplay(f *testing.F) {
	header := `1 {"journal":1,"bootID":"boot-001","checkpoint":"x"}`
	put := func(path, key, value string) string {
		b64 := base64.StdEncoding.EncodeToString
		return fmt.Sprintf(`{"path":%s,"key":"%s","value":"%s"}`, path, b64([]byte(key)), b64([]byte(value)))
	}
	a := allocation(1, "10.0.0.2", "a")
	value, err := record.Encode("podnet", a)
	if err != nil {
		f.Fatal(err)
	}
	entry := put(`["networks","podnet","allocations"]`, string(addrKey(a.Addr)), string(value))
	index := put(`["networks","podnet","attachments"]`, string(attachmentKey(a.Holders[0].Attachment, a.Addr)), "")
	epoch := put(`["meta","epochs"]`, "boot-001", string(uint64Bytes(1)))
	snapshot := `1 {"verb":"snapshot","changes":[` + epoch + "]}\n" + `1 {"verb":"snapshot-end","keys":1,"changes":[]}`
	for _, rest := range []string{
		"",
		`2 {"verb":"ADD","changes":[` + entry + "," + index + "]}",
		`2 {"verb":"ADD","changes":[` + entry + "]}",
		`2 {"verb":"DEL","changes":[{"path":["meta"],"key":"AA==","value":null}]}`,
		`2 {"verb":"x","changes":[` + put(`[]`, "k", "v") + `]}`,
		`2 {"verb":"x","changes":[` + put(`["meta"]`, "epochs", "v") + `]}`,
		`2 {"verb":"x","changes":[` + put(`["meta",""]`, "", "v") + `]}`,
		`3 {"verb":"x","changes":[]}`,
	} {
		f.Add(header+"\n"+snapshot+"\n"+rest, []byte(nil))
		f.Add(header+"\n"+snapshot+"\n"+rest, []byte("torn"))
	}
	n := fuzzNode(f)
	f.Fuzz(func(t *testing.T, text string, tail []byte) {
		n.t = t
		var b []byte
		for line := range strings.Lines(text) {
			id, doc, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			tx, _ := strconv.ParseUint(id, 10, 64)
			b = append(b, journalLine([]byte(doc), tx)...)
		}
		n.write(JournalFile, append(b, tail...))
		r, err := readJournal(n.file(JournalFile))
		if err != nil || !r.whole {
			return
		}
		before := n.digest()
		if _, err := n.replace(noLock{}, n.boot, r.content, Damage{From: SourceBackup}, replacedSuffix); err != nil {
			if n.digest() != before {
				t.Fatalf("%v, but the checkpoint is another one", err)
			}
			n.write(JournalFile, nil) // it is not this checkpoint's
		}
		n.held()
		if err := os.RemoveAll(n.dir); err != nil {
			t.Fatal(err)
		}
		n.add("10.0.0.100", "a")
	})
}

// fuzzNode is a node for all inputs of a fuzz target, one after the other. Its t
// has to be set for each.
func fuzzNode(f *testing.F) *node {
	n := &node{boot: "boot-001"}
	n.Store = New(filepath.Join(f.TempDir(), "data"), Options{BootID: func() string { return n.boot }})
	err := n.update(opAdd, func(net *Network) error { return net.Put(allocation(net.Epoch(), "10.0.0.100", "a")) })
	if err != nil {
		f.Fatal(err)
	}
	return n
}

// The line that took the address from a is spoilt; that b was given it is not.
func TestBehindAGapTheNewestHolderCounts(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.add("10.0.0.3", "c")
	n.del("10.0.0.2")
	n.add("10.0.0.2", "b")
	lines := journalLines(t, n)
	n.write(JournalFile, bytes.Join(replaced(lines, len(lines)-2, flipped(lines[len(lines)-2])), nil))
	r, err := readJournal(n.file(JournalFile))
	if err != nil || r.broken == nil {
		t.Fatalf("broken: %v, %v", r.broken, err)
	}
	n.write(CheckpointFile, nil)
	report, err := n.Repair(Repair{Alive: func(record.NetNS) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range report.Allocations {
		for _, h := range v.Allocation.Holders {
			got[v.Allocation.Addr.String()] += h.ContainerID
		}
	}
	if want := map[string]string{"10.0.0.2": "b", "10.0.0.3": "c"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
