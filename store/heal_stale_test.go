package store

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"testing"
)

// A disk that has not written a page leaves an older one there. That of `meta` is of
// an older transaction in all it says, its stamp included; the witness tells that no
// other program wrote the last one.
func TestAMetaBucketThatIsOlderIsHealedFromTheJournal(t *testing.T) {
	n, size, tried := newNode(t), os.Getpagesize(), 0
	var older [][]byte
	for i := range 12 {
		n.add(fmt.Sprintf("10.0.0.%d", 2+i), fmt.Sprintf("c%d", i))
		older = append(older, n.read(CheckpointFile))
	}
	want, files := n.held(), map[string][]byte{}
	for _, name := range []string{CheckpointFile, JournalFile, LockFile} {
		files[name] = n.read(name)
	}
	now := files[CheckpointFile]
	for version, was := range older {
		for at := 2 * size; at < min(len(was), len(now)); at += size {
			page := was[at : at+size]
			if bytes.Equal(page, now[at:at+size]) || !bytes.Contains(page, []byte(keyFormat)) {
				continue
			}
			for name, b := range files {
				n.write(name, b)
			}
			damaged := bytes.Clone(now)
			copy(damaged[at:], page)
			n.write(CheckpointFile, damaged)
			what := fmt.Sprintf("page %d of version %d", at/size, version)
			if err := n.heal(); err != nil {
				t.Errorf("%s: %v", what, err)
			} else if got := n.held(); !maps.Equal(got, want) {
				t.Errorf("%s: held %v, want %v", what, got, want)
			}
			tried++
		}
	}
	if tried < 10 {
		t.Errorf("%d tried", tried)
	}
}
