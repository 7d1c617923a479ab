package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Loss says that allocations of a boot are missing: a damaged checkpoint had
// them, and nothing that was left vouches for all of them.
type Loss struct {
	// Epoch is the number of that boot. After it nothing that is missing is alive.
	Epoch uint64 `json:"epoch"`
	// Reason is for people.
	Reason string `json:"reason"`
	// Migrations are the documents, by network, of those that are not stored any
	// more, as far as they could be read.
	Migrations map[string][]byte `json:"migrations,omitempty"`
	// Contested are those of them that had an address with several holders, of whom
	// an older form can name one.
	Contested []string `json:"contested,omitempty"`
}

// lose marks the allocations of a network, "" for all that are not stored, as
// incomplete.
func (c *content) lose(network string, l Loss) error {
	doc, err := json.Marshal(l)
	if err != nil {
		return err
	}
	c.put(lossPath(network), keyLost, seal(network, keyLost, doc))
	return nil
}

func lossPath(network string) []string {
	if network == "" {
		return []string{bucketMeta}
	}
	return []string{bucketNetworks, network}
}

// lostNetworks are the stored networks of which allocations are missing, or were.
func (c *content) lostNetworks() []string {
	var names []string
	for name, network := range c.at(bucketNetworks).each() {
		if network.values[keyLost] != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// endLosses removes the marks of losses that ended with an earlier boot.
func (c *content) endLosses(bootID string) {
	current := c.currentEpoch(bootID)
	for _, network := range append(c.lostNetworks(), "") {
		if l, err := parseLoss(network, c.get(lossPath(network), keyLost)); err == nil && l.Epoch < current {
			delete(c.at(lossPath(network)...).values, keyLost)
		}
	}
}

// Lost tells whether there were networks in this boot that are not stored any
// more.
func (t *Tx) Lost() (Loss, bool) { return t.lossOf("") }

// Lost tells whether allocations of this boot are missing in the network, or
// the whole network is.
func (n *Network) Lost() (Loss, bool) {
	if !n.Exists() {
		return n.tx.Lost()
	}
	return n.tx.lossOf(n.name)
}

func (t *Tx) lossOf(network string) (Loss, bool) {
	b := t.bucket(lossPath(network))
	if b == nil {
		return Loss{}, false
	}
	value := b.Get([]byte(keyLost))
	if value == nil {
		if network != "" {
			t.absent(network, b)
		}
		return Loss{}, false
	}
	l, err := parseLoss(network, value)
	if err != nil { // what was lost cannot be told, and not in which boot
		return Loss{Reason: "what is stored about it cannot be read"}, true
	}
	return l, l.Epoch == t.epoch
}

func parseLoss(network string, value []byte) (l Loss, err error) {
	doc, err := unseal(network, keyLost, value)
	if err == nil {
		err = json.Unmarshal(doc, &l)
	}
	return l, err
}

// AcceptLoss declares that nothing is missing any more in this boot.
func (t *Tx) AcceptLoss() error {
	if err := t.put([]string{bucketMeta}, []byte(keyAccepted), uint64Bytes(t.epoch)); err != nil {
		return err
	}
	return t.dropLosses(func(Loss) bool { return true })
}

// Accepted tells whether somebody has declared so in this boot: then what other
// files say of networks that are not stored does not count.
func (t *Tx) Accepted() bool {
	b := t.bucket([]string{bucketMeta})
	if b == nil {
		return false
	}
	n, err := bytesUint64(b.Get([]byte(keyAccepted)))
	return err == nil && n == t.epoch
}

// accepted is [Tx.Accepted] of a checkpoint in memory.
func (c *content) accepted(epoch uint64) bool {
	n, err := bytesUint64(c.get([]string{bucketMeta}, keyAccepted))
	return err == nil && n == epoch
}

// acceptLoss is [Tx.AcceptLoss] for a checkpoint in memory. epoch is the number of
// the boot.
func (c *content) acceptLoss(epoch uint64) {
	c.put([]string{bucketMeta}, keyAccepted, uint64Bytes(epoch))
	delete(c.make(bucketMeta).values, keyLost)
	for _, network := range c.at(bucketNetworks).each() {
		delete(network.values, keyLost)
	}
}

// dropLosses removes the marks that drop selects.
func (t *Tx) dropLosses(drop func(Loss) bool) error {
	var errs []error
	for _, network := range append(t.Networks(), "") {
		b := t.bucket(lossPath(network))
		if b == nil || b.Get([]byte(keyLost)) == nil {
			continue
		}
		if l, _ := t.lossOf(network); drop(l) {
			errs = append(errs, t.remove(lossPath(network), []byte(keyLost)))
		}
	}
	return errors.Join(errs...)
}

// Whole returns an error that wraps ErrLost where allocations are missing.
func (n *Network) Whole() error {
	if l, lost := n.Lost(); lost {
		return fmt.Errorf("%w: %s, network %s: %s", ErrLost, n.tx.store.Path(), n.name, l.Reason)
	}
	return nil
}

// Lose marks a network as one of which allocations of this boot are missing.
func (n *Network) Lose(reason string) error {
	doc, err := json.Marshal(Loss{Epoch: n.tx.epoch, Reason: reason})
	if err != nil {
		return err
	}
	return n.setDocument(keyLost, doc)
}

// Found declares of a network that this transaction makes that nothing of it is
// missing, whatever was lost.
func (n *Network) Found() { n.tx.found[n.name] = true }

// inherit marks the networks that this transaction has made, where networks were
// lost that are not stored: each may be one of them, and what is written of it
// now is not all.
func (t *Tx) inherit() error {
	l, lost := t.Lost()
	if !lost {
		return nil
	}
	for _, path := range t.made {
		if len(path) != 2 || path[0] != bucketNetworks || t.found[path[1]] {
			continue
		}
		n := t.Network(path[1])
		if _, marked := t.lossOf(n.name); marked || !n.Exists() {
			continue
		}
		if err := n.Lose(l.Reason); err != nil {
			return err
		}
	}
	return nil
}
