package engine_test

import (
	"errors"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
)

// What host-local has leaked may fill the ranges before the first ADD, and then
// no ADD succeeds that would store them.
func TestAnAddThatFindsNoAddressStoresItsRanges(t *testing.T) {
	const full = "10.0.0.0/29" // five addresses: the first one is the gateway's
	fill := func(n *node) {
		for id, addr := range map[string]string{"a": "10.0.0.2", "b": "10.0.0.3", "c": "10.0.0.4", "d": "10.0.0.5", "e": "10.0.0.6"} {
			n.older(id, addr)
		}
	}
	casesOnPairs(t, map[string]struct {
		before func(*node)
		add    func(*node) error
		fails  error
		want   string // the subnet that is stored
	}{
		"the first one": {
			func(n *node) { fill(n); n.subnet = full },
			func(n *node) error { return added(n.add("z")) }, ipam.ErrExhausted, full,
		},
		"the first one, in legacy": {
			func(n *node) { fill(n); n.subnet, n.target = full, engine.Legacy },
			func(n *node) error { return added(n.add("z")) }, ipam.ErrExhausted, full,
		},
		"one with narrower ranges": {
			func(n *node) { fill(n); n.mustAdd("f"); n.subnet = full },
			func(n *node) error { return added(n.add("z")) }, ipam.ErrExhausted, full,
		},
		"one whose caller has died": {
			func(n *node) { fill(n); n.mustAdd("f"); n.subnet, n.orphaned = full, true },
			func(n *node) error { return added(n.add("z")) }, nil, "10.0.0.0/26",
		},
		"one that asks for what is taken": {
			func(n *node) { fill(n); n.mustAdd("f"); n.subnet = full },
			func(n *node) error { return added(n.add("z", "10.0.0.2")) }, nil, "10.0.0.0/26",
		},
		"one that asks for what is outside": {
			func(n *node) { fill(n); n.mustAdd("f"); n.subnet = full },
			func(n *node) error { return added(n.add("z", "10.0.0.9")) }, nil, "10.0.0.0/26",
		},
	}, func(t *testing.T, n *node, c struct {
		before func(*node)
		add    func(*node) error
		fails  error
		want   string
	}) {
		c.before(n)
		before := n.view().held()
		err := c.add(n)
		if err == nil || c.fails != nil && !errors.Is(err, c.fails) || c.fails == nil && errors.Is(err, ipam.ErrExhausted) {
			t.Fatalf("ADD: %v", err)
		}
		n.wantHeld("what is held", n.view().held(), before)
		if got := n.storedSubnet(); got != c.want {
			t.Errorf("stored is %s, want %s", got, c.want)
		}
	})
}

func added(_ string, err error) error { return err }

// storedSubnet is that of the only range.
func (n *node) storedSubnet() string {
	n.Helper()
	subnet := ""
	err := n.pair.New.Read(func(tx form.New) error {
		sets, err := tx.Ranges()
		if len(sets) == 1 && len(sets[0]) == 1 {
			subnet = sets[0][0].Subnet.String()
		}
		return err
	})
	if err != nil {
		n.Fatalf("%v", err)
	}
	return subnet
}
