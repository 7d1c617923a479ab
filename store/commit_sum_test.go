package store

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"regexp"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// On the disks of nodes: the names on the way to each key, the key and the value,
// each behind its length.
func TestTheCommitOnDiskIsPinned(t *testing.T) {
	db, err := bolt.Open(filepath.Join(t.TempDir(), "f"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var commit string
	err = db.Update(func(tx *bolt.Tx) error {
		meta, err := tx.CreateBucket([]byte(bucketMeta))
		if err != nil {
			return err
		}
		for _, kv := range [][3]string{{bucketEpochs, "boot-001", "\x00\x01"}, {"", keyFormat, "{}"}, {bucketStamp, "1", "any"}, {"", keyCommit, "the one before"}, {"empty", "", ""}} {
			b := meta
			if kv[0] != "" {
				if b, err = meta.CreateBucket([]byte(kv[0])); err != nil {
					return err
				}
			}
			if kv[1] != "" {
				if err := b.Put([]byte(kv[1]), []byte(kv[2])); err != nil {
					return err
				}
			}
		}
		commit, err = newCommit(meta)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	covered := "\x00\x00\x00\x06epochs\x00\x00\x00\x08boot-001\x00\x00\x00\x02\x00\x01" + "\x00\x00\x00\x06format\x00\x00\x00\x02{}"
	want := fmt.Sprintf("-%08x", crc32.Checksum([]byte(covered), crc32.MakeTable(crc32.Castagnoli)))
	if !regexp.MustCompile(`^[0-9a-f]{32}` + want + `$`).MatchString(commit) {
		t.Errorf("%q, want 32 digits and %q", commit, want)
	}
}

// editMeta lets fn change meta as a flipped bit would: nothing else is told.
func (n *node) editMeta(fn func(meta *bolt.Bucket) error) {
	n.t.Helper()
	w, _, err := readWitness(n.file(LockFile))
	if err != nil {
		n.t.Fatal(err)
	}
	db, err := bolt.Open(n.Path(), 0o600, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error {
		w.Tx = uint64(tx.ID())
		stamp := bucketIn(tx, bucketMeta, bucketStamp)
		return errors.Join(fn(tx.Bucket([]byte(bucketMeta))), stamp.Put([]byte(keyStampSchema1), uint64Bytes(w.Tx)))
	})
	if err := errors.Join(err, writeWitness(n.file(LockFile), w)); err != nil {
		n.t.Fatal(err)
	}
}

func TestMetaIsHeldAgainstItsChecksumInEachCall(t *testing.T) {
	put := func(key, value string) func(*bolt.Bucket) error {
		return func(meta *bolt.Bucket) error { return meta.Put([]byte(key), []byte(value)) }
	}
	edits := map[string]func(*bolt.Bucket) error{
		"a number": func(meta *bolt.Bucket) error {
			return meta.Bucket([]byte(bucketEpochs)).Put([]byte("boot-001"), uint64Bytes(257))
		},
		"a boot more": func(meta *bolt.Bucket) error {
			return meta.Bucket([]byte(bucketEpochs)).Put([]byte("boot-000"), uint64Bytes(0))
		},
		"a loss accepted": put(keyAccepted, string(uint64Bytes(1))),
		"an unknown key":  put("flags", "f"),
		"the checksum": func(meta *bolt.Bucket) error {
			commit := bytes.Clone(meta.Get([]byte(keyCommit)))
			commit[commitLen-1] ^= 1
			return meta.Put([]byte(keyCommit), commit)
		},
		"the hyphen": func(meta *bolt.Bucket) error {
			commit := bytes.Clone(meta.Get([]byte(keyCommit)))
			commit[commitIDLen] ^= 1
			return meta.Put([]byte(keyCommit), commit)
		},
	}
	for size, files := range map[string]map[string][]byte{"small": filesOf(newNodeWith(t, 2)), "big": filesOf(newBigNode(t))} {
		for name, edit := range edits {
			t.Run(size+", "+name, func(t *testing.T) {
				n := newNode(t)
				if err := makeDir(n.dir, 0o700); err != nil {
					t.Fatal(err)
				}
				for name, b := range files {
					n.write(name, b)
				}
				n.editMeta(edit)
				if err := n.update(opDel, func(*Network) error { return nil }); !errors.Is(err, ErrDamaged) || !errors.Is(err, errMetaSum) {
					t.Errorf("a call that writes: %v", err)
				}
				if err := n.Read(func(*Tx) error { return nil }); !errors.Is(err, errMetaSum) {
					t.Errorf("one that reads: %v", err)
				}
				if err := n.ReadWhole(func(*Tx) error { return nil }); !errors.Is(err, errMetaSum) {
					t.Errorf("one that looks at all: %v", err)
				}
			})
		}
	}
}

func filesOf(n *node) map[string][]byte {
	files := map[string][]byte{}
	for _, name := range []string{CheckpointFile, LockFile, JournalFile} {
		files[name] = n.read(name)
	}
	return files
}

// A version without the checksum may write in between.
func TestAFileThatWasLastWrittenWithoutAChecksumIsBelieved(t *testing.T) {
	n := newNodeWith(t, 2)
	n.byAnother(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucketMeta))
		return errors.Join(b.Put([]byte("flags"), []byte("f")),
			b.Bucket([]byte(bucketStamp)).Put([]byte(keyStampSchema1), uint64Bytes(uint64(tx.ID()))))
	})
	n.add("10.0.0.9", "z")
	if commit := n.content()["meta/commit"]; len(commit) != commitLen {
		t.Errorf("the commit is %q", commit)
	}
	if got := n.held(); len(got) != 3 {
		t.Errorf("held %v", got)
	}
}

// A new checkpoint has it from its first transaction on.
func TestANewCheckpointHasAChecksum(t *testing.T) {
	n := newNode(t)
	err := n.Update(opAdd, func(*Tx) error { return errTest })
	if !errors.Is(err, errTest) {
		t.Fatal(err)
	}
	before := n.content()["meta/commit"]
	n.add("10.0.0.2", "a")
	n.write(CheckpointFile, nil)
	if err := n.heal(); err != nil {
		t.Fatal(err)
	}
	healed := n.content()["meta/commit"]
	if len(before) != commitLen || len(healed) != commitLen || before == healed {
		t.Errorf("%q and, healed, %q", before, healed)
	}
}
