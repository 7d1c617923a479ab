package migrate

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/crc32c"
)

// What tests do to a checkpoint with bbolt alone, as another program would.

// boltContent is all that a file holds, by the path of buckets and key.
type boltContent struct {
	keys    map[string]string
	buckets map[string]uint64 // their sequences
}

func openCheckpoint(t *testing.T, dir string, readOnly bool) *bolt.DB {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, "data", store.CheckpointFile), 0o600, &bolt.Options{ReadOnly: readOnly, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// readCheckpoint reads the checkpoint of a case that was copied to dir.
func readCheckpoint(t *testing.T, dir string) boltContent {
	t.Helper()
	db := openCheckpoint(t, dir, true)
	c := boltContent{keys: map[string]string{}, buckets: map[string]uint64{}}
	var walk func(path string, b *bolt.Bucket) error
	walk = func(path string, b *bolt.Bucket) error {
		c.buckets[path] = b.Sequence()
		return b.ForEach(func(k, v []byte) error {
			if v == nil {
				return walk(path+"/"+string(k), b.Bucket(k))
			}
			c.keys[path+"/"+string(k)] = string(v)
			return nil
		})
	}
	err := db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error { return walk(string(name), b) })
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return c
}

// edit changes the checkpoint in the working directory in one transaction.
func (n *goldenNode) edit(fn func(*bolt.Tx) error) {
	n.t.Helper()
	db := openCheckpoint(n.t, ".", false)
	n.must(errors.Join(db.Update(fn), db.Close()))
}

// editAsOurs is edit by one that maintains schema 1.
func (n *goldenNode) editAsOurs(fn func(*bolt.Tx) error) {
	n.t.Helper()
	n.edit(func(tx *bolt.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return errors.Join(withoutSum(tx), putStamp(tx, tx.ID()))
	})
}

// withoutSum leaves meta/commit as a version without the checksum would.
func withoutSum(tx *bolt.Tx) error {
	id, _, _ := strings.Cut(string(tx.Bucket([]byte("meta")).Get([]byte("commit"))), "-")
	return putAt(tx, "meta", "commit", id)
}

func putStamp(tx *bolt.Tx, id int) error {
	return putAt(tx, "meta/stamp", "1", string(binary.BigEndian.AppendUint64(nil, uint64(id))))
}

// bucketAt makes what is missing of a path of buckets.
func bucketAt(tx *bolt.Tx, path string) (*bolt.Bucket, error) {
	names := strings.Split(path, "/")
	b, err := tx.CreateBucketIfNotExists([]byte(names[0]))
	for _, name := range names[1:] {
		if err != nil {
			return nil, err
		}
		b, err = b.CreateBucketIfNotExists([]byte(name))
	}
	return b, err
}

func putAt(tx *bolt.Tx, bucket, key, value string) error {
	b, err := bucketAt(tx, bucket)
	if err != nil {
		return err
	}
	return b.Put([]byte(key), []byte(value))
}

func deleteAt(tx *bolt.Tx, bucket, key string) error {
	b, err := bucketAt(tx, bucket)
	if err != nil {
		return err
	}
	return b.Delete([]byte(key))
}

// editDocument rewrites a JSON object. seal puts in front what stands there.
func editDocument(tx *bolt.Tx, bucket, key string, skip int, seal func(head, doc []byte) []byte, fn func(map[string]any)) error {
	b, err := bucketAt(tx, bucket)
	if err != nil {
		return err
	}
	value := b.Get([]byte(key))
	if len(value) < skip {
		return fmt.Errorf("%s/%q has %d bytes", bucket, key, len(value))
	}
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(value[skip:]))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return err
	}
	fn(fields)
	doc, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return b.Put([]byte(key), seal(value[:skip], doc))
}

func editFormat(tx *bolt.Tx, fn func(map[string]any)) error {
	return editDocument(tx, "meta", "format", 0, func(_, doc []byte) []byte { return doc }, fn)
}

// sealed is a document of a network with its checksum.
func sealedMigration(doc []byte) []byte {
	sum := crc32c.Sum([]byte(goldenNetwork+"\x00migration\x00"), doc)
	return append(binary.BigEndian.AppendUint32(nil, sum), doc...)
}

func editMigration(tx *bolt.Tx, fn func(map[string]any)) error {
	return editDocument(tx, "networks/"+goldenNetwork, "migration", 4,
		func(_, doc []byte) []byte { return sealedMigration(doc) }, fn)
}

// editRecords rewrites all allocations.
func editRecords(tx *bolt.Tx, fn func(map[string]any)) error {
	bucket := "networks/" + goldenNetwork + "/allocations"
	b, err := bucketAt(tx, bucket)
	if err != nil {
		return err
	}
	var keys []string
	if err := b.ForEach(func(k, _ []byte) error { keys = append(keys, string(k)); return nil }); err != nil {
		return err
	}
	for _, key := range keys {
		seal := func(head, doc []byte) []byte {
			sum := crc32c.Sum([]byte(goldenNetwork+"\x00"), []byte(key), head[:8], doc)
			value := append([]byte(nil), head[:8]...)
			return append(binary.BigEndian.AppendUint32(value, sum), doc...)
		}
		if err := editDocument(tx, bucket, key, 12, seal, fn); err != nil {
			return err
		}
	}
	return nil
}
