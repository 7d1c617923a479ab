package store

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// migration is what the network podnet has.
func (n *node) migration() (doc []byte, err error) {
	n.t.Helper()
	if readErr := n.Read(func(tx *Tx) error {
		doc, err = tx.Network("podnet").Migration()
		return nil
	}); readErr != nil {
		n.t.Fatal(readErr)
	}
	return doc, err
}

func (n *node) setMigration(doc string) {
	n.t.Helper()
	if err := n.update(opAdd, func(net *Network) error { return net.SetMigration([]byte(doc)) }); err != nil {
		n.t.Fatal(err)
	}
}

func TestAMigrationIsReadAsItWasWritten(t *testing.T) {
	n := newNode(t)
	for _, when := range []string{"without a checkpoint", "without a network", "in a network"} {
		if doc, err := n.migration(); doc != nil || err != nil {
			t.Errorf("%s: %q, %v", when, doc, err)
		}
		switch when {
		case "without a checkpoint":
			if err := n.Update(opAdd, func(*Tx) error { return nil }); err != nil {
				t.Fatal(err)
			}
		case "without a network":
			n.add("10.0.0.2", "a")
		}
	}
	for _, want := range []string{`{"phase":"expand"}`, "", "\x00\xff not JSON", `{"phase":"switch"}`} {
		n.setMigration(want)
		if doc, err := n.migration(); doc == nil || string(doc) != want || err != nil {
			t.Errorf("%q reads back as %q, %v", want, doc, err)
		}
	}
	n.held()
	n.journalIsComplete()
}

func TestTheSameMigrationAgainWritesNothing(t *testing.T) {
	n := newNode(t)
	n.setMigration(`{"phase":"switch"}`)
	before := n.digest()
	n.setMigration(`{"phase":"switch"}`)
	if n.digest() != before {
		t.Error("it has written")
	}
}

// What Migration returned stays as it is while the transaction goes on.
func TestAMigrationIsACopy(t *testing.T) {
	n := newNode(t)
	n.setMigration("first")
	err := n.update(opAdd, func(net *Network) error {
		doc, err := net.Migration()
		if err != nil {
			return err
		}
		doc[0] = 'F'
		if err := net.SetMigration([]byte("other")); err != nil {
			return err
		}
		if string(doc) != "First" {
			t.Errorf("the copy is now %q", doc)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := n.migration(); string(doc) != "other" || err != nil {
		t.Errorf("%q, %v", doc, err)
	}
}

func TestADamagedMigrationIsNoticed(t *testing.T) {
	n := newNode(t)
	n.setMigration(`{"phase":"switch"}`)
	err := n.update(opTool, func(net *Network) error {
		b := bucketIn(net.tx.bolt, bucketNetworks, "podnet")
		whole := bytes.Clone(b.Get([]byte(keyMigration)))
		for bit := range 8 * len(whole) {
			bad := bytes.Clone(whole)
			bad[bit/8] ^= 1 << (bit % 8)
			if err := b.Put([]byte(keyMigration), bad); err != nil {
				return err
			}
			if doc, err := net.Migration(); doc != nil || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "network podnet: the migration") {
				t.Errorf("bit %d: %q, %v", bit, doc, err)
			}
		}
		return errTest
	})
	if !errors.Is(err, errTest) {
		t.Fatal(err)
	}
}
