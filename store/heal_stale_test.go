package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/pages"
	"github.com/bolt-local/bolt-local/store/record"
)

// A disk that has not written a page leaves an older one there. That of `meta` is of
// an older transaction in all it says, its stamp included; the number in the witness
// and the networks in the journal tell that no other program wrote the last one.
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
			if tried%2 == 1 {
				if report := n.mend(Repair{}); report.Problem != nil && report.Complete != TheJournal {
					t.Errorf("%s: complete %q, lost %q", what, report.Complete, report.Lost)
				}
			} else if err := n.heal(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if got := n.held(); !maps.Equal(got, want) {
				t.Errorf("%s: held %v, want %v", what, got, want)
			}
			tried++
		}
	}
	if tried < 10 {
		t.Errorf("%d tried", tried)
	}
}

// Where the file went back first, the transaction of another program gets the number
// that ours had. What it wrote is in no journal.
func TestAnotherProgramsTransactionWithOurNumberIsNotThrownAway(t *testing.T) {
	for name, back := range map[string]func(n *node, older []byte){
		"upon an older copy": func(n *node, older []byte) { n.write(CheckpointFile, older) },
		"upon the older meta page": func(n *node, _ []byte) { // bbolt goes back by itself
			first, second := n.metaTx()
			n.zero(map[bool]int{true: 0, false: 1}[first > second])
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := sixHeld(t)
			older := n.read(CheckpointFile)
			n.add("10.0.0.9", "last")
			back(n, older)
			n.byAnother(func(tx *bolt.Tx) error {
				a := allocation(1, "10.0.0.99", "theirs")
				value, err := record.Encode("podnet", a)
				if err != nil {
					return err
				}
				network := tx.Bucket([]byte(bucketNetworks)).Bucket([]byte("podnet"))
				return errors.Join(
					network.Bucket([]byte(bucketAllocations)).Put(addrKey(a.Addr), value),
					network.Bucket([]byte(bucketAttachments)).Put(attachmentKey(a.Holders[0].Attachment, a.Addr), nil),
				)
			})
			err := n.heal()
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "was written by another program, or an older page stands in it") {
				t.Errorf("healing: %v", err)
			}
			if report := n.mend(Repair{}); !slices.Equal(report.Lost, []string{"podnet"}) || report.Complete != "" {
				t.Errorf("lost %q, complete %q", report.Lost, report.Complete)
			}
			held := n.held()
			for addr, id := range map[string]string{"10.0.0.9": "last", "10.0.0.99": "theirs"} {
				if held[addr] != id {
					t.Errorf("%s is held by %q, want %s", addr, held[addr], id)
				}
			}
		})
	}
}

func TestALaterTransactionOfAnotherProgramIsItsOwn(t *testing.T) {
	n := sixHeld(t)
	n.byAnother(func(tx *bolt.Tx) error { // the networks are those of the journal
		_, err := tx.CreateBucket([]byte("plans"))
		return err
	})
	if err := n.heal(); !errors.Is(err, errForeign) {
		t.Errorf("healing: %v", err)
	}
}

// metaTx are the transactions of both meta pages.
func (n *node) metaTx() (first, second uint64) {
	b, size := n.read(CheckpointFile), os.Getpagesize()
	const at = 64 // behind the header, magic, version, page size, flags, root, freelist and high-water mark
	return binary.NativeEndian.Uint64(b[at:]), binary.NativeEndian.Uint64(b[size+at:])
}

// Its page of meta knows the boot before alone, and no journal is there. What a call
// of another network keeps of it is this node's all the same.
func TestRepairSearchesAKeptFileWhoseMetaIsOfTheBootBefore(t *testing.T) {
	n, size := newNode(t), os.Getpagesize()
	n.add("10.0.0.2", "before")
	was, from := n.read(CheckpointFile), n.metaPage()
	n.boot = "boot-002"
	want := map[string]string{}
	for i := range 30 {
		addr, id := fmt.Sprintf("10.0.0.%d", 10+i), fmt.Sprintf("c%d", i)
		n.add(addr, id)
		want[addr] = id
	}
	damaged, at := n.read(CheckpointFile), n.metaPage()
	copy(damaged[at*size:(at+1)*size], was[from*size:])
	binary.NativeEndian.PutUint64(damaged[at*size:], uint64(at)) // its own id
	n.write(CheckpointFile, damaged)
	n.write(JournalFile, nil)
	h := Heal{Deadline: time.Now().Add(5 * time.Second), Network: "elsewhere", Complete: func([]byte) bool { return true }}
	if err := n.Heal(h); err != nil {
		t.Fatal(err)
	}
	if report := n.mend(Repair{}); !slices.Equal(report.Lost, []string{"podnet"}) {
		t.Errorf("lost %q, notes %q", report.Lost, report.Notes)
	}
	held := n.held()
	for addr, id := range want {
		if held[addr] != id {
			t.Errorf("%s is held by %q, want %s", addr, held[addr], id)
		}
	}
}

// metaPage is the page of the bucket meta.
func (n *node) metaPage() (page int) {
	n.t.Helper()
	_, err := pages.Salvage(n.read(CheckpointFile), func(f pages.Found) error {
		if f.Reached && !f.Stale && string(f.Key) == keyFormat {
			page = int(f.Page)
		}
		return nil
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return page
}
