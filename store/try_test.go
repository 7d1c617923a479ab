package store

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/bolt-local/bolt-local/store/record"
)

// fails runs fn under Try and fails it at its end, whatever it returns.
func fails(tx *Tx, fn func() error) error {
	err := tx.Try(func() error { return errors.Join(fn(), errTest) })
	if errors.Is(err, errTest) && err.Error() == errTest.Error() {
		return nil
	}
	return errors.Join(errors.New("Try does not return fn's error alone"), err)
}

// buckets are the paths of all buckets, empty ones too.
func (n *node) buckets() []string {
	n.t.Helper()
	var paths []string
	err := n.Read(func(tx *Tx) error {
		var walk func(path string, b *bolt.Bucket) error
		walk = func(path string, b *bolt.Bucket) error {
			paths = append(paths, path)
			return b.ForEachBucket(func(k []byte) error { return walk(path+"/"+string(k), b.Bucket(k)) })
		}
		return tx.bolt.ForEach(func(name []byte, b *bolt.Bucket) error { return walk(string(name), b) })
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return paths
}

// stays is content without what differs in every commit.
func (n *node) stays() map[string]string {
	n.t.Helper()
	content := n.content()
	delete(content, "meta/commit")
	delete(content, "meta/stamp/1")
	return content
}

func TestWhatFailedUnderTryIsTakenBackAndNothingElse(t *testing.T) {
	set := record.RangeSet{{Start: ip("10.0.0.1"), End: ip("10.0.0.9")}}
	for name, fn := range map[string]func(tx *Tx) error{
		"an allocation":               func(tx *Tx) error { return tx.Network("podnet").Put(allocation(1, "10.0.0.5", "x")) },
		"one of another network":      func(tx *Tx) error { return tx.Network("third").Put(allocation(1, "10.0.0.5", "x")) },
		"one over another":            func(tx *Tx) error { return tx.Network("podnet").Put(allocation(1, "10.0.0.2", "x")) },
		"one over one of two":         func(tx *Tx) error { return tx.Network("podnet").Put(allocation(0, "fd00::2", "x")) },
		"a deletion":                  func(tx *Tx) error { return tx.Network("podnet").Delete(ip("fd00::2")) },
		"one without a number":        func(tx *Tx) error { return tx.Network("podnet").Put(allocation(0, "10.0.0.5", "x")) },
		"a deletion of such a one":    func(tx *Tx) error { return tx.Network("podnet").Delete(ip("10.0.0.4")) },
		"a number for such a one":     func(tx *Tx) error { return tx.Network("podnet").Put(allocation(1, "10.0.0.4", "c")) },
		"a cursor":                    func(tx *Tx) error { return tx.Network("podnet").SetCursor(set, ip("10.0.0.3")) },
		"a cursor of another set":     func(tx *Tx) error { return tx.Network("other").SetCursor(set, ip("10.0.0.3")) },
		"ranges":                      func(tx *Tx) error { return tx.Network("podnet").SetRanges(nil) },
		"a migration":                 func(tx *Tx) error { return tx.Network("podnet").SetMigration([]byte("x")) },
		"a migration of a new one":    func(tx *Tx) error { return tx.Network("third").SetMigration([]byte("x")) },
		"nothing":                     func(*Tx) error { return nil },
		"a network that is forgotten": func(tx *Tx) error { return tx.Forget("podnet") },
		"one that is forgotten and comes again": func(tx *Tx) error {
			return errors.Join(tx.Forget("podnet"), tx.Network("podnet").Put(allocation(1, "10.0.0.5", "x")))
		},
		"a new one that is forgotten": func(tx *Tx) error {
			return errors.Join(tx.Network("third").Put(allocation(0, "10.0.0.5", "x")), tx.Forget("third"))
		},
		"the same address over and over": func(tx *Tx) error {
			net := tx.Network("podnet")
			return errors.Join(net.Put(allocation(1, "10.0.0.2", "x")), net.Delete(ip("10.0.0.2")), net.Put(allocation(0, "10.0.0.2", "y")), net.Delete(ip("10.0.0.2")))
		},
		"all that there is": func(tx *Tx) error {
			net := tx.Network("podnet")
			return errors.Join(net.Delete(ip("10.0.0.2")), net.Delete(ip("10.0.0.4")), net.Delete(ip("fd00::2")), tx.Network("other").Delete(ip("10.0.0.2")))
		},
		"enough to split pages": func(tx *Tx) error {
			for i := range 300 {
				if err := tx.Network("third").Put(allocation(0, addrAt(i), "x")); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, twin := newFullNode(t), newFullNode(t)
			kept := func(tx *Tx) error { return tx.Network("podnet").Put(allocation(1, "10.0.0.7", "kept")) }
			after := func(tx *Tx) error { return tx.Network("podnet").Put(allocation(1, "10.0.0.8", "after")) }
			err := n.Update(opAdd, func(tx *Tx) error {
				return errors.Join(kept(tx), fails(tx, func() error { return fn(tx) }), tx.Verify(), after(tx))
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := twin.Update(opAdd, func(tx *Tx) error { return errors.Join(kept(tx), after(tx)) }); err != nil {
				t.Fatal(err)
			}
			got, want := n.stays(), twin.stays()
			delete(got, "meta/format") // an id of its own
			delete(want, "meta/format")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(twin.buckets(), n.buckets()); diff != "" {
				t.Errorf("buckets (-want +got):\n%s", diff)
			}
			n.held() // verifies
			n.journalIsComplete()
			if b := n.read(JournalFile); bytes.Count(b, []byte("\n")) < 3 {
				t.Errorf("the journal was written anew, so it tells nothing:\n%s", b)
			}
		})
	}
}

func TestTryMayBeNested(t *testing.T) {
	put := func(tx *Tx, network, addr string) error {
		return tx.Network(network).Put(allocation(1, addr, "x"))
	}
	for name, c := range map[string]struct {
		fn   func(tx *Tx) error
		held []string
	}{
		"an inner one fails": {func(tx *Tx) error {
			return tx.Try(func() error {
				return errors.Join(put(tx, "podnet", "10.0.0.3"), fails(tx, func() error { return put(tx, "podnet", "10.0.0.4") }), put(tx, "podnet", "10.0.0.5"))
			})
		}, []string{"10.0.0.2", "10.0.0.3", "10.0.0.5"}},
		"the outer one fails": {func(tx *Tx) error {
			return fails(tx, func() error {
				return errors.Join(put(tx, "podnet", "10.0.0.3"), tx.Try(func() error { return put(tx, "new", "10.0.0.4") }), put(tx, "podnet", "10.0.0.5"))
			})
		}, []string{"10.0.0.2"}},
		"both fail": {func(tx *Tx) error {
			return fails(tx, func() error {
				return errors.Join(put(tx, "podnet", "10.0.0.3"), fails(tx, func() error { return put(tx, "new", "10.0.0.4") }), put(tx, "new", "10.0.0.5"))
			})
		}, []string{"10.0.0.2"}},
		"the same again, after it failed": {func(tx *Tx) error {
			return errors.Join(fails(tx, func() error { return put(tx, "new", "10.0.0.3") }), tx.Try(func() error { return put(tx, "podnet", "10.0.0.3") }))
		}, []string{"10.0.0.2", "10.0.0.3"}},
		"an inner one frees, the outer one fails": {func(tx *Tx) error {
			return fails(tx, func() error {
				return errors.Join(tx.Try(func() error { return tx.Network("podnet").Delete(ip("10.0.0.2")) }), put(tx, "podnet", "10.0.0.2"))
			})
		}, []string{"10.0.0.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.add("10.0.0.2", "a")
			if err := n.Update(opAdd, c.fn); err != nil {
				t.Fatal(err)
			}
			var held []string
			for addr := range n.held() {
				held = append(held, addr)
			}
			slices.Sort(held)
			if diff := cmp.Diff(c.held, held); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			if slices.Contains(n.buckets(), "networks/new") {
				t.Error("the network of what failed is there")
			}
			n.journalIsComplete()
		})
	}
}

func TestATransactionOfWhichNothingIsLeftWritesNothing(t *testing.T) {
	n := newFullNode(t)
	before := n.digest()
	err := n.Update(opTool, func(tx *Tx) error {
		return fails(tx, func() error { return tx.Network("podnet").Delete(ip("10.0.0.2")) })
	})
	if err != nil {
		t.Fatal(err)
	}
	if n.digest() != before {
		t.Error("it has written")
	}
}

// A commit that fails is taken back to what was before it, not to what Try left.
func TestAnUndoFileHasOnlyWhatTryLeft(t *testing.T) {
	n := newFullNode(t)
	want := n.stays()
	n.commitBolt = failLastSync
	err := n.Update(opTool, func(tx *Tx) error {
		net := tx.Network("podnet")
		return errors.Join(fails(tx, func() error { return net.Put(allocation(1, "10.0.0.2", "x")) }), net.Put(allocation(1, "10.0.0.2", "y")))
	})
	if err == nil {
		t.Fatal("no error")
	}
	n.commitBolt = (*bolt.Tx).Commit
	if err := n.Update(opTool, func(*Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, n.stays()); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

// A failing call leaves upkeep, in one transaction, and calls fn once.
func TestUpkeepIsLeftWhereFnFails(t *testing.T) {
	n := newFullNode(t)
	n.boot = "boot-002"
	calls := 0
	err := n.Update(opAdd, func(tx *Tx) error {
		calls++
		return errors.Join(tx.Network("podnet").Put(allocation(tx.Epoch(), "10.0.0.8", "x")), tx.Network("podnet").Delete(ip("10.0.0.4")), errTest)
	})
	if !errors.Is(err, errTest) || calls != 1 {
		t.Fatalf("%d calls, err = %v", calls, err)
	}
	current, of := n.epochs()
	want := map[string]uint64{"10.0.0.2": 1, "10.0.0.4": 2, "fd00::2": 1}
	if diff := cmp.Diff(want, of); current != 2 || diff != "" {
		t.Errorf("current %d, want 2; epochs of records (-want +got):\n%s", current, diff)
	}
	n.held()
	n.journalIsComplete()
}

// What can be taken back only in part must not be committed, whoever drops the
// error.
func TestWhatCannotBeTakenBackIsNotCommitted(t *testing.T) {
	n := newFullNode(t)
	before := n.digest()
	n.boot = "boot-002" // upkeep is due
	err := n.Update(opAdd, func(tx *Tx) error {
		err := tx.Try(func() error {
			if err := tx.Network("podnet").Delete(ip("10.0.0.2")); err != nil {
				return err
			}
			tx.undo[len(tx.undo)-1].Key = make([]byte, bolt.MaxKeySize+1)
			return errTest
		})
		if !errors.Is(err, errTest) {
			t.Errorf("err = %v", err)
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), n.Path()) || !strings.Contains(err.Error(), "nothing was committed") {
		t.Fatalf("err = %v", err)
	}
	if n.digest() != before {
		t.Error("it has written")
	}
	n.held()
}

func TestTryReadsWhereNothingCanBeWritten(t *testing.T) {
	n := newFullNode(t)
	err := n.Read(func(tx *Tx) error {
		return errors.Join(
			tx.Try(func() error { _, _, err := tx.Network("podnet").Get(ip("10.0.0.2")); return err }),
			tx.Try(func() error { return tx.Network("podnet").Delete(ip("10.0.0.2")) }))
	})
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("err = %v", err)
	}
}
