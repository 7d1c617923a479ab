package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/pages"
)

// sixtyHeld is a node whose network has pages of its own.
func sixtyHeld(t *testing.T) (*node, map[string]string) {
	n := newNode(t)
	held := map[string]string{}
	err := n.update(opAdd, func(net *Network) error {
		for i := range 60 {
			held[addrAt(i)] = fmt.Sprint("c", i)
			if err := net.Put(allocation(net.Epoch(), addrAt(i), held[addrAt(i)])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, held
}

// salvaged are the allocations of podnet that are found in n's file, those in
// trees and those in pages that nothing leads to.
func (n *node) salvaged() (whole bool, trees, scraps map[string]string) {
	n.t.Helper()
	src, err := salvage(n.Path(), "the file")
	if err != nil {
		n.t.Fatal(err)
	}
	trees, scraps = map[string]string{}, map[string]string{}
	for _, c := range src.content.claims("", "", alive) {
		trees[c.alloc.Addr.String()] = c.alloc.Holders[0].ContainerID
	}
	for _, c := range src.scrapClaims([]string{"podnet"}, "", alive) {
		scraps[c.alloc.Addr.String()] = c.alloc.Holders[0].ContainerID
	}
	return src.whole, trees, scraps
}

// rootPage is that of the root bucket.
func (n *node) rootPage() int {
	n.t.Helper()
	b := n.read(CheckpointFile)
	m, err := pages.ReadMeta(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		n.t.Fatal(err)
	}
	return int(m.Root)
}

// recordPage is one that has records of podnet alone.
func (n *node) recordPage() (page int) {
	n.t.Helper()
	_, err := pages.Salvage(n.read(CheckpointFile), func(f pages.Found) error {
		if f.Reached && amongAllocations(f) {
			page = int(f.Page)
		}
		return nil
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return page
}

// putPage puts a page in the place of another, with that one's id.
func (n *node) putPage(page, by int) {
	b, size := n.read(CheckpointFile), os.Getpagesize()
	copy(b[page*size:], b[by*size:(by+1)*size])
	binary.NativeEndian.PutUint64(b[page*size:], uint64(page))
	n.write(CheckpointFile, b)
}

func TestAllThatIsLeftOfAFileIsSalvaged(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(*node)
		whole  bool
		trees  bool // lead to something
	}{
		"a sound file":                          {func(*node) {}, true, true},
		"without one meta page":                 {func(n *node) { n.zero(0) }, false, true},
		"without the other":                     {func(n *node) { n.zero(1) }, false, true},
		"without both":                          {func(n *node) { n.zero(0); n.zero(1) }, false, false},
		"without the root page":                 {func(n *node) { n.zero(n.rootPage()) }, false, false}, // the older one tells of the past
		"records in the place of the root page": {func(n *node) { n.putPage(n.rootPage(), n.recordPage()) }, false, false},
		"written by another, last":              {func(n *node) { n.byAnother(func(*bolt.Tx) error { return nil }) }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			n, held := sixtyHeld(t)
			n.add("10.0.0.2", "last")
			held["10.0.0.2"] = "last"
			c.damage(n)
			whole, trees, scraps := n.salvaged()
			if whole != c.whole || (len(trees) > 0) != c.trees {
				t.Errorf("whole %v, %d found in trees", whole, len(trees))
			}
			all := maps.Clone(scraps)
			maps.Copy(all, trees)
			if diff := cmp.Diff(held, all); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsNoCheckpointHasNothingToBeSalvaged(t *testing.T) {
	for name, content := range map[string][]byte{
		"empty": nil,
		"text":  bytes.Repeat([]byte("{}\n"), 10000),
		"zeros": make([]byte, 1<<16),
		"short": []byte("x"),
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.add("10.0.0.2", "a")
			n.write(CheckpointFile, content)
			whole, trees, scraps := n.salvaged()
			if whole || len(trees)+len(scraps) > 0 {
				t.Errorf("whole %v, found %v and %v", whole, trees, scraps)
			}
		})
	}
	if _, err := salvage(t.TempDir(), "x"); err == nil || missing(err) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := salvage("/nowhere/at/all", "x"); !missing(err) {
		t.Errorf("nothing: %v", err)
	}
}

// Each of these is read by every call, and so has to be readable or away.
func TestWhatCannotBeReadIsNotTakenOver(t *testing.T) {
	doc := []byte(`{}`)
	podnet := []string{bucketNetworks, "podnet"}
	for name, c := range map[string]struct {
		path  []string
		key   string
		value []byte
	}{
		"ranges":                          {podnet, keyRanges, seal("podnet", keyMigration, doc)},
		"a phase":                         {podnet, keyMigration, seal("other", keyMigration, doc)},
		"a phase that is empty":           {podnet, keyMigration, nil},
		"a loss":                          {podnet, keyLost, doc},
		"a loss of other networks":        {[]string{bucketMeta}, keyLost, seal("podnet", keyLost, doc)},
		"a format":                        {[]string{bucketMeta}, keyFormat, doc},
		"a cursor":                        {append(slices.Clone(podnet), bucketCursors), "10.0.0.2-10.0.0.9", []byte("10.0.0.2")},
		"a boot's number":                 {[]string{bucketMeta, bucketEpochs}, "boot-007", []byte("7")},
		"a boot's name":                   {[]string{bucketMeta, bucketEpochs}, "b\xffot", uint64Bytes(7)},
		"former damage":                   {[]string{bucketMeta, bucketDamage}, "\x01", seal("", "\x02", doc)},
		"a key in the place of a bucket":  {podnet, bucketAllocations, doc},
		"a key in the place of the boots": {[]string{bucketMeta}, bucketEpochs, doc},
		"a key in the place of a network": {[]string{bucketNetworks}, "podnet", doc},
	} {
		t.Run(name, func(t *testing.T) {
			n := sixHeld(t)
			src, err := salvage(n.Path(), "x")
			if err != nil {
				t.Fatal(err)
			}
			src.content.put(c.path, c.key, c.value)
			src.content.sanitize()
			if got := src.content.get(c.path, c.key); got != nil {
				t.Errorf("it is %q", got)
			}
			if _, err := n.replace(noLock{}, n.boot, src.content, Damage{From: SourceRepair}, ".damaged-"); err != nil {
				t.Fatal(err)
			}
			if got := n.held(); !maps.Equal(got, six(6)) {
				t.Errorf("held %v", got)
			}
			n.add("10.0.0.100", "new")
		})
	}
}

// bbolt tells a bucket from a key by one bit.
func TestABucketThatIsTakenForAKeyIsRepaired(t *testing.T) {
	n := sixHeld(t)
	b := n.read(CheckpointFile)
	flipped := 0
	for at := 0; at+4096 <= len(b); at += 4096 {
		page := b[at : at+4096]
		if typ := binary.NativeEndian.Uint16(page[8:]); typ != 2 { // no leaf
			continue
		}
		for i := range int(binary.NativeEndian.Uint16(page[10:])) {
			if e := page[16+16*i:]; binary.NativeEndian.Uint32(e) == 1 {
				binary.NativeEndian.PutUint32(e, 0)
				flipped++
			}
		}
	}
	if flipped == 0 {
		t.Fatal("there is no bucket")
	}
	n.write(CheckpointFile, b)
	n.cutJournal(1)
	n.mend(Repair{})
	if got := n.held(); len(got) < 5 {
		t.Errorf("held %v", got)
	}
}

func TestOfEachKeyTheFirstSourceCounts(t *testing.T) {
	path := []string{bucketNetworks, "podnet"}
	first, second := newContent(), newContent()
	first.put(path, "in both", []byte("first"))
	second.put(path, "in both", []byte("second"))
	second.put(path, "in one", []byte("second"))
	for _, c := range []*content{first, second} {
		a := allocation(1, "10.0.0.2", "a")
		if err := c.putAllocation("podnet", a, ""); err != nil {
			t.Fatal(err)
		}
	}
	all := mergeRest([]source{{content: first}, {content: second}}, "boot-002")
	if got := string(all.get(path, "in both")) + " " + string(all.get(path, "in one")); got != "first second" {
		t.Errorf("got %s", got)
	}
	// Allocations are settled one by one.
	if all.at(bucketNetworks, "podnet", bucketAllocations) != nil || all.at(bucketMeta, bucketUnnumbered) != nil {
		t.Error("allocations were merged as they are")
	}
	if len(first.at(bucketNetworks, "podnet", bucketAllocations).values) != 1 {
		t.Error("a source was changed")
	}
}
