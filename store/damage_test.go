package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// refuses asks that every kind of call fails with want and leaves the file as
// it is.
func (n *node) refuses(want error) {
	n.t.Helper()
	before, readErr := n.bytes()
	calls := map[string]func() error{
		"ADD": func() error {
			return n.update(opAdd, func(net *Network) error { return net.Put(allocation(1, "10.0.0.9", "z")) })
		},
		"DEL":  func() error { return n.update(opDel, func(net *Network) error { return net.Delete(ip("10.0.0.2")) }) },
		"read": func() error { return n.Read(func(*Tx) error { return nil }) },
	}
	for name, call := range calls {
		err := call()
		if !errors.Is(err, want) {
			n.t.Errorf("%s: %v, want %v", name, err, want)
		} else if !strings.Contains(err.Error(), n.Path()) {
			n.t.Errorf("%s: the error does not name the file: %v", name, err)
		}
	}
	after, afterErr := n.bytes()
	if !bytes.Equal(before, after) || (readErr == nil) != (afterErr == nil) {
		n.t.Error("the checkpoint has changed")
	}
}

// bytes reads the checkpoint, if it is a file.
func (n *node) bytes() ([]byte, error) {
	if info, err := os.Stat(n.Path()); err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	return os.ReadFile(n.Path())
}

func TestDamagedFilesAreRefused(t *testing.T) {
	cases := map[string]func(n *node){
		"empty":                 func(n *node) { n.write(CheckpointFile, nil) },
		"one byte":              func(n *node) { n.write(CheckpointFile, []byte{0}) },
		"text":                  func(n *node) { n.write(CheckpointFile, bytes.Repeat([]byte("{}\n"), 10000)) },
		"zeros":                 func(n *node) { n.write(CheckpointFile, make([]byte, 1<<16)) },
		"one page":              func(n *node) { n.write(CheckpointFile, n.read(CheckpointFile)[:os.Getpagesize()]) },
		"cut in use":            func(n *node) { n.write(CheckpointFile, n.read(CheckpointFile)[:3*os.Getpagesize()]) },
		"first meta page zero":  func(n *node) { n.zero(0) },
		"second meta page zero": func(n *node) { n.zero(1) },
		"written by another":    func(n *node) { n.byAnother(func(*bolt.Tx) error { return nil }) },
		"an older copy": func(n *node) {
			old := n.read(CheckpointFile)
			n.add("10.0.0.8", "x")
			n.write(CheckpointFile, old)
		},
		"another checkpoint": func(n *node) {
			other := newNode(n.t)
			for range 20 {
				other.add("10.0.0.3", "y")
				other.del("10.0.0.3")
			}
			n.write(CheckpointFile, other.read(CheckpointFile))
		},
		"another checkpoint, and the lock is gone": func(n *node) {
			other := newNode(n.t)
			other.add("10.0.0.3", "y")
			n.write(CheckpointFile, other.read(CheckpointFile))
			_ = os.Remove(n.file(LockFile))
		},
		"an older copy, and the lock is gone": func(n *node) {
			old := n.read(CheckpointFile)
			n.add("10.0.0.8", "x")
			n.write(CheckpointFile, old)
			_ = os.Remove(n.file(LockFile))
		},
		"written without a list of free pages": func(n *node) {
			db, err := bolt.Open(n.Path(), 0o600, &bolt.Options{NoFreelistSync: true})
			if err != nil {
				n.t.Fatal(err)
			}
			if err := errors.Join(db.Update(func(*bolt.Tx) error { return nil }), db.Close()); err != nil {
				n.t.Fatal(err)
			}
		},
		"a pipe": func(n *node) {
			_ = os.Remove(n.Path())
			_ = syscall.Mkfifo(n.Path(), 0o600)
		},
		"gone": func(n *node) { _ = os.Remove(n.Path()) },
		"gone, and the lock with it": func(n *node) {
			_ = os.Remove(n.Path())
			_ = os.Remove(n.file(LockFile))
		},
		"gone, and the journal with it": func(n *node) {
			_ = os.Remove(n.Path())
			_ = os.Remove(n.file(JournalFile))
		},
		"a directory": func(n *node) {
			_ = os.Remove(n.Path())
			_ = os.Mkdir(n.Path(), 0o700)
		},
	}
	for name, damage := range cases {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.add("10.0.0.2", "a")
			damage(n)
			n.refuses(ErrDamaged)
		})
	}
}

// zero wipes a page.
func (n *node) zero(page int) {
	b := n.read(CheckpointFile)
	size := os.Getpagesize()
	copy(b[page*size:(page+1)*size], make([]byte, size))
	n.write(CheckpointFile, b)
}

// Every page, one after the other, zeroed: an error or the truth, never a
// panic and never less than was there.
func TestNoZeroedPageGoesUnnoticed(t *testing.T) {
	n := newNode(t)
	for i := range 60 {
		n.add(ip("10.0.0.2").String(), "a")
		n.add(addrAt(i), "c")
	}
	want := n.held()
	whole := n.read(CheckpointFile)
	for page := range len(whole) / os.Getpagesize() {
		n.write(CheckpointFile, whole)
		n.zero(page)
		err := n.Read(func(tx *Tx) error {
			if err := tx.Verify(); err != nil {
				return err
			}
			if got := len(tx.Networks()); got != 1 {
				t.Errorf("page %d: %d networks", page, got)
			}
			return nil
		})
		if err == nil {
			if got := n.held(); len(got) != len(want) {
				t.Errorf("page %d: %d allocations are left of %d, without an error", page, len(got), len(want))
			}
		} else if !errors.Is(err, ErrDamaged) {
			t.Errorf("page %d: %v", page, err)
		}
	}
}

func addrAt(i int) string {
	a := ip("10.0.1.0")
	for range i {
		a = a.Next()
	}
	return a.String()
}

func TestAFileWithoutAFormatIsRefused(t *testing.T) {
	for name, format := range map[string][]byte{
		"absent":        nil,
		"not JSON":      []byte("schema 1"),
		"empty":         []byte("{}"),
		"newer":         []byte(`{"schema":3,"oldestWriter":2,"writer":"2.0.0","created":"2030-01-01T00:00:00Z","id":"x"}`),
		"of no version": []byte(`{"schema":0,"oldestWriter":0,"writer":"2.0.0","created":"2030-01-01T00:00:00Z","id":"x"}`),
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.add("10.0.0.2", "a")
			n.byAnother(func(tx *bolt.Tx) error {
				meta := tx.Bucket([]byte(bucketMeta))
				if format == nil {
					return meta.Delete([]byte(keyFormat))
				}
				return meta.Put([]byte(keyFormat), format)
			})
			n.refuses(ErrFormat)
			err := n.ReadAny(false, func(tx *Tx) error {
				if !errors.Is(tx.Problem(), ErrFormat) {
					t.Errorf("problem = %v", tx.Problem())
				}
				if _, ok, err := tx.Network("podnet").Get(ip("10.0.0.2")); !ok || err != nil {
					t.Errorf("dump cannot show what is there: %v %v", ok, err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestANewerSchemaThatStillAllowsOursIsWritten(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.byAnother(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte(bucketMeta))
		var f map[string]any
		if err := json.Unmarshal(meta.Get([]byte(keyFormat)), &f); err != nil {
			return err
		}
		f["schema"], f["writer"], f["later"] = 2, "2.0.0", true
		b, err := json.Marshal(f)
		if err != nil {
			return err
		}
		if err := meta.Put([]byte(keyFormat), b); err != nil {
			return err
		}
		if _, err := tx.CreateBucket([]byte("schema2")); err != nil {
			return err
		}
		return meta.Bucket([]byte(bucketStamp)).Put([]byte(keyStampSchema1), uint64Bytes(uint64(tx.ID())))
	})
	n.add("10.0.0.3", "b")
	err := n.Read(func(tx *Tx) error {
		if tx.bolt.Bucket([]byte("schema2")) == nil {
			t.Error("an unknown bucket is gone")
		}
		b := string(tx.bolt.Bucket([]byte(bucketMeta)).Get([]byte(keyFormat)))
		for _, want := range []string{`"schema":2`, `"later":true`, `"writer":"0.1.0"`} {
			if !strings.Contains(b, want) {
				t.Errorf("format %s lacks %s", b, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatAnEarlierBootLostIsBegunAnew(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	if err := os.Remove(n.Path()); err != nil {
		t.Fatal(err)
	}
	n.boot = "boot-002"
	n.del("10.0.0.2")
	n.add("10.0.0.3", "b")
	if got := n.held(); len(got) != 1 || got["10.0.0.3"] != "b" {
		t.Errorf("held = %v", got)
	}
}

func TestARemovedDirectoryIsANewNode(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	if err := os.RemoveAll(n.dir); err != nil {
		t.Fatal(err)
	}
	n.add("10.0.0.3", "b")
	if got := n.held(); len(got) != 1 {
		t.Errorf("held = %v", got)
	}
}

func TestACreatorThatWasKilledLeavesNothingInTheWay(t *testing.T) {
	n := newNode(t)
	if err := os.Mkdir(n.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	n.write(newCheckpointFile, []byte("half"))
	n.write(newJournalFile, []byte("half"))
	n.add("10.0.0.2", "a")
	if len(n.held()) != 1 {
		t.Error("not held")
	}
}

// Growing the file for an ADD must wait until the open rules have spoken.
func TestARefusedAddDoesNotGrowTheFile(t *testing.T) {
	n := newNode(t)
	n.add("10.0.0.2", "a")
	n.byAnother(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketMeta)).Put([]byte(keyFormat), []byte(`{"schema":3,"oldestWriter":2,"writer":"2.0.0","created":"2030-01-01T00:00:00Z","id":"x"}`))
	})
	f, err := os.Open(n.Path())
	if err != nil {
		t.Fatal(err)
	}
	p, err := inspect(f, false)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(n.Path(), int64(p.HighWater)*p.PageSize); err != nil {
		t.Fatal(err)
	}
	n.refuses(ErrFormat)
}

// Opening a pipe waits for its other end, and would keep the lock meanwhile.
func TestAPipeInTheWayHangsNobody(t *testing.T) {
	for _, name := range []string{LockFile, JournalFile, UndoFile, newJournalFile} {
		t.Run(name, func(t *testing.T) {
			n := newNodeWith(t, 1)
			_ = os.Remove(n.file(name))
			if name == newJournalFile {
				_ = os.Remove(n.file(JournalFile))
			}
			if err := syscall.Mkfifo(n.file(name), 0o600); err != nil {
				t.Fatal(err)
			}
			err := n.update(opAdd, func(net *Network) error { return net.Put(allocation(1, "10.0.0.9", "z")) })
			if refuse := name == LockFile || name == UndoFile; (err != nil) != refuse {
				t.Errorf("err = %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), n.file(name)) {
				t.Errorf("the error does not name the file: %v", err)
			}
		})
	}
}

func TestOnlyAWholeLineOfTheJournalCondemnsTheFile(t *testing.T) {
	n := newNodeWith(t, 3)
	b := n.read(JournalFile)
	i := bytes.LastIndexByte(b[:len(b)-10], ' ') // the transaction id of the last line
	b[i+1] = '9'
	n.write(JournalFile, b)
	n.add("10.9.9.9", "z")
	n.journalIsComplete()
}

func TestALinkInThePlaceOfTheDeferredDirectoryIsLeftAlone(t *testing.T) {
	n := newNode(t)
	target := t.TempDir()
	err := errors.Join(os.Mkdir(n.dir, 0o700), os.Chmod(target, 0o755), os.Symlink(target, n.file(DeferredDir)))
	if err != nil {
		t.Fatal(err)
	}
	err = n.update(opAdd, func(net *Network) error { return net.Put(allocation(1, "10.0.0.9", "z")) })
	if err == nil || !strings.Contains(err.Error(), n.file(DeferredDir)) {
		t.Errorf("err = %v", err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the link's target has mode %v, %v", info.Mode(), err)
	}
}

// What a newer schema has in the place of the numbers of boots says nothing to this
// version: it must not be healed away, in a new boot least of all.
func TestANewerSchemaIsToldBeforeItsEpochs(t *testing.T) {
	n := newNodeWith(t, 1)
	n.byAnother(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte(bucketMeta))
		return errors.Join(
			meta.Put([]byte(keyFormat), []byte(`{"schema":3,"oldestWriter":2,"writer":"2.0.0","created":"2030-01-01T00:00:00Z","id":"x"}`)),
			meta.Bucket([]byte(bucketEpochs)).Put([]byte("boot-001"), []byte("twelve bytes")))
	})
	n.boot = "boot-002"
	n.refuses(ErrFormat)
	before := n.digest()
	if err := n.heal(); !errors.Is(err, ErrFormat) || errors.Is(err, ErrDamaged) || n.digest() != before {
		t.Errorf("healing: %v", err)
	}
}
