package store

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Source is what a checkpoint was made whole from.
type Source string

// The sources, as they stand on disk and in `status`.
const (
	SourceJournal Source = "journal"  // which had everything
	SourceOldForm Source = "old-form" // which had one network; the others were lost
	SourceNewBoot Source = "new-boot" // nothing: the damaged file was of an earlier boot
	SourceRepair  Source = "repair"   // all that was left, put together by Repair
	SourceBackup  Source = "backup"   // which Restore has put in its place
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
	return c.at(bucketMeta, bucketDamage).equal(other.at(bucketMeta, bucketDamage))
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
