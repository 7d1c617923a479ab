package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Source is what a checkpoint was made whole from.
type Source string

// The sources, as they stand on disk and in `status`.
const (
	SourceJournal Source = "journal"  // with all that its boot was told
	SourceOldForm Source = "old-form" // of one network
	SourceNewBoot Source = "new-boot" // nothing in the damaged file was alive
	SourceRepair  Source = "repair"   // all that was left
	SourceBackup  Source = "backup"   // restored by hand
)

// Damage is what became of a checkpoint that was damaged.
type Damage struct {
	// Time is the wall clock, for people.
	Time time.Time `json:"time"`
	// Problem is what was wrong.
	Problem string `json:"problem"`
	// Kept is the name that the damaged file has now in the data directory, ""
	// where there was none.
	Kept string `json:"kept,omitempty"`
	// Journal is the name that its journal has now, "" where all of that was
	// taken over.
	Journal string `json:"journal,omitempty"`
	From    Source `json:"from"`
	// Network is the one that SourceOldForm had.
	Network string `json:"network,omitempty"`
	// Searched: Repair has taken over all that is left of other networks.
	Searched bool `json:"searched,omitempty"`
}

// Unsearched: what other networks had was not looked for yet.
func (d Damage) Unsearched() bool {
	return d.From == SourceOldForm && !d.Searched
}

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
}

// maxDamages bounds what is kept of former damage. The oldest goes first.
const maxDamages = 16

// note adds d to what a new checkpoint tells of the old one.
func (c *content) note(d Damage) error {
	doc, err := json.Marshal(d)
	if err != nil {
		return err
	}
	notes := c.make(bucketMeta, bucketDamage)
	keys := slices.Sorted(maps.Keys(notes.values))
	next := uint64(1)
	if len(keys) > 0 {
		last, err := bytesUint64([]byte(keys[len(keys)-1]))
		if err != nil {
			return err
		}
		next = last + 1
	}
	for _, key := range keys[:max(0, len(keys)+1-maxDamages)] {
		delete(notes.values, key)
	}
	key := string(uint64Bytes(next))
	notes.values[key] = seal("", key, doc)
	return nil
}

// sameNotes tells whether both tell the same of former damage.
func (c *content) sameNotes(other *content) bool {
	is, was := c.at(bucketMeta, bucketDamage).eachValue(), other.at(bucketMeta, bucketDamage).eachValue()
	return maps.EqualFunc(is, was, bytes.Equal)
}

// searched notes that all damaged files were searched.
func (c *content) searched() error {
	notes := c.at(bucketMeta, bucketDamage)
	for key, value := range notes.eachValue() {
		d, err := parseDamage(key, value)
		if err != nil {
			return err
		}
		if d.Unsearched() {
			d.Searched = true
			doc, err := json.Marshal(d)
			if err != nil {
				return err
			}
			notes.values[key] = seal("", key, doc)
		}
	}
	return nil
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

// Damages tells of all former damage that nobody has acknowledged, the oldest
// first. What cannot be read is left out.
func (t *Tx) Damages() []Damage {
	var all []Damage
	if b := t.bucket([]string{bucketMeta, bucketDamage}); b != nil {
		_ = b.ForEach(func(k, v []byte) error {
			if d, err := parseDamage(string(k), v); err == nil {
				all = append(all, d)
			}
			return nil
		})
	}
	return all
}

func parseDamage(key string, value []byte) (Damage, error) {
	var d Damage
	doc, err := unseal("", key, value)
	if err == nil {
		err = json.Unmarshal(doc, &d)
	}
	return d, err
}

// Acknowledge drops what Damages returns.
func (t *Tx) Acknowledge() error {
	b := t.bucket([]string{bucketMeta, bucketDamage})
	if b == nil {
		return nil
	}
	return t.removeAll([]string{bucketMeta, bucketDamage}, b)
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

// Lose marks a network as one of which allocations of this boot are missing.
func (n *Network) Lose(reason string) error {
	doc, err := json.Marshal(Loss{Epoch: n.tx.epoch, Reason: reason})
	if err != nil {
		return err
	}
	return n.seal(keyLost, doc)
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

// Whole returns an error that wraps ErrLost where allocations are missing.
func (n *Network) Whole() error {
	if l, lost := n.Lost(); lost {
		return fmt.Errorf("%w: %s, network %s: %s", ErrLost, n.tx.store.Path(), n.name, l.Reason)
	}
	return nil
}
