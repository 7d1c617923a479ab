package powercut

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/powercut/disk"
	"github.com/bolt-local/bolt-local/e2e/testenv"
	"github.com/bolt-local/bolt-local/store"
)

// Lock and journal are never synced, so after a reboot they may hold anything.
func TestWhateverLockAndJournalHoldAfterARebootCondemnsNothing(t *testing.T) {
	seed := testenv.Seed(t)
	for i, s := range []scenario{
		{"in contract", ipv4, native, []call{add("c", noTarget)}},
		{"in switch", ipv4, mirrored, []call{add("c", switched)}},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := s.record(t, s.begin(t))
			r.random = testenv.Rand(seed, uint64(i))
			before := r.replay.disk.Tree()
			r.eachCut(t, func(cut) {})
			now := r.replay.disk.Cut()
			tree := now.Tree(now.Kept())
			answered := cut{call: 0, since: 1, answered: true, after: "the answer"}
			n := r.in(r.next)
			locks := junk(tree, before, store.LockFile)
			for _, lock := range slices.Sorted(maps.Keys(locks)) {
				journals := junk(locks[lock], before, store.JournalFile)
				for _, journal := range slices.Sorted(maps.Keys(journals)) {
					if lock != asItWas && journal != asItWas && !r.some(ofJunk) {
						continue
					}
					err := n.lay(journals[journal])
					if err == nil {
						err = r.afterReboot(n, answered, journals[journal])
					}
					if err != nil {
						t.Errorf("lock: %s, journal: %s: %v", lock, journal, err)
					}
				}
			}
		})
	}
}

const (
	asItWas = "as it was"
	ofJunk  = 8 // pairs of junk one is tried, where not all are
)

// junk is the tree with what may stand in the place of one file. before is an
// older tree.
func junk(tree, before disk.Tree, name string) map[string]disk.Tree {
	path := dataName + "/" + name
	i := slices.IndexFunc(tree, func(f disk.File) bool { return f.Path == path })
	with := func(b []byte) disk.Tree {
		t := slices.Clone(tree)
		t[i].Bytes = b
		return t
	}
	whole := tree[i].Bytes
	older, _ := before.Find(path)
	var mixed []byte
	for at, b := range whole {
		if at/disk.SectorSize%2 == 1 {
			b = 0
		}
		mixed = append(mixed, b)
	}
	all := map[string]disk.Tree{
		asItWas:                  tree,
		"not there":              slices.Delete(slices.Clone(tree), i, i+1),
		"empty":                  with(nil),
		"zeros":                  with(make([]byte, len(whole))),
		"stale bytes":            with(bytes.Repeat([]byte{0xa5}, len(whole))),
		"older":                  with(older.Bytes),
		"without its last byte":  with(whole[:len(whole)-1]),
		"every other sector":     with(mixed),
		"the other one's":        with(other(tree, name)),
		"with a tail of zeros":   with(append(bytes.Clone(whole), make([]byte, disk.SectorSize)...)),
		"twice":                  with(append(bytes.Clone(whole), whole...)),
		"a line without its end": with(whole[:bytes.IndexByte(whole, '\n')]),
	}
	for part := 1; part < 4; part++ {
		all[fmt.Sprintf("%d/4 of it", part)] = with(whole[:len(whole)*part/4])
	}
	return all
}

// other is what the other of both files holds.
func other(tree disk.Tree, name string) []byte {
	path := dataName + "/" + store.LockFile
	if name == store.LockFile {
		path = dataName + "/" + store.JournalFile
	}
	f, _ := tree.Find(path)
	return f.Bytes
}
