package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bolt-local/bolt-local/store/record"
)

// updateMigration stores what change, which may be nil, makes of a network's
// migration document, if it has one.
func (c *content) updateMigration(network string, change func([]byte) []byte) {
	if doc := c.migration(network); doc != nil && change != nil {
		c.put([]string{bucketNetworks, network}, keyMigration, seal(network, keyMigration, change(doc)))
	}
}

// loss is what c says of all networks that are not stored, the zero Loss for
// nothing that can be read.
func (c *content) loss() Loss {
	l, err := parseLoss("", c.get([]string{bucketMeta}, keyLost))
	if err != nil {
		return Loss{}
	}
	return l
}

// lastMigration is the document of a network, also of one that was lost.
func (c *content) lastMigration(network string) []byte {
	if doc := c.migration(network); doc != nil {
		return doc
	}
	return c.loss().Migrations[network]
}

// migrations are the migration documents of all networks, of those that were lost,
// too; nil for one that has none that can be read.
func (c *content) migrations() map[string][]byte {
	docs := map[string][]byte{}
	maps.Copy(docs, c.loss().Migrations)
	for name := range c.at(bucketNetworks).each() {
		docs[name] = c.migration(name)
	}
	return docs
}

// ranges are the stored range sets of a network, nil where there are none.
func (c *content) ranges(network string) []record.RangeSet {
	doc, err := unseal(network, keyRanges, c.get([]string{bucketNetworks, network}, keyRanges))
	var sets []record.RangeSet
	if err != nil || json.Unmarshal(doc, &sets) != nil {
		return nil
	}
	return sets
}

// sameNetworks tells whether c and other hold the same allocations.
func (c *content) sameNetworks(other *content) bool {
	return strings.Join(c.allocationLines(), "\n") == strings.Join(other.allocationLines(), "\n")
}

func (c *content) allocationLines() []string {
	var lines []string
	for name, network := range c.at(bucketNetworks).each() {
		for key, value := range network.at(bucketAllocations).eachValue() {
			lines = append(lines, fmt.Sprintf("%q %x %x", name, key, value))
		}
	}
	slices.Sort(lines)
	return lines
}
