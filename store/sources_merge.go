package store

import (
	"slices"
)

// mergeRest puts everything of the sources together but for allocations and what
// is counted in them: of each key the first source that has it. The numbers of
// boots, and what goes by them, come from one source, of bootID if any knows it:
// another checkpoint had others for the same boots.
func mergeRest(sources []source, bootID string) *content {
	all := newContent()
	for _, s := range sources {
		all.fillIn(s.content)
	}
	for _, network := range all.at(bucketNetworks).each() {
		delete(network.buckets, bucketAllocations)
		delete(network.buckets, bucketAttachments)
	}
	if meta := all.at(bucketMeta); meta != nil {
		delete(meta.buckets, bucketUnnumbered)
		delete(meta.buckets, bucketEpochs)
		delete(meta.values, keyAccepted)
	}
	counting := slices.IndexFunc(sources, func(s source) bool { return s.content.knowsBoot(bootID) })
	if counting < 0 {
		counting = slices.IndexFunc(sources, func(s source) bool { return s.content.newestEpoch() > 0 })
	}
	if counting < 0 {
		return all
	}
	from := sources[counting].content.at(bucketMeta)
	all.make(bucketMeta, bucketEpochs).fillIn(from.at(bucketEpochs))
	if accepted, there := from.values[keyAccepted]; there {
		all.put([]string{bucketMeta}, keyAccepted, accepted)
	}
	return all
}

// fillIn adds to c what other has and c has not, and tells whether that is
// anything.
func (c *content) fillIn(other *content) (changed bool) {
	for key, value := range other.eachValue() {
		if _, there := c.values[key]; !there && c.buckets[key] == nil {
			c.values[key], changed = value, true
		}
	}
	for name, b := range other.each() {
		delete(c.values, name) // a name is one or the other
		if c.make(name).fillIn(b) {
			changed = true
		}
	}
	return changed
}
