package store

import "slices"

// aliens returns which of these sources are another node's or another data
// directory's: such a one knows nothing of this boot while others do, and these do
// not know it. journal is the first line of the journal, named that another file
// says that this boot has written to the checkpoint.
func (s *Store) aliens(sources []source, journal journalHeader, bootID string, named bool) []int {
	var k kin
	for _, src := range sources {
		if src.content.knowsBoot(bootID) {
			named = true
			k.add(src)
		}
	}
	// A lock of another boot says less than what this boot has written to.
	w, known, err := readWitness(s.file(LockFile))
	if err == nil && known && (w.BootID == bootID || len(k.ids) == 0) {
		k.ids = append(k.ids, w.Checkpoint)
	}
	if journal.BootID == bootID {
		k.ids = append(k.ids, journal.Checkpoint)
	}
	if len(k.ids) == 0 && !named {
		return nil // nobody can tell
	}
	var all []int
	for i, src := range sources {
		if f, err := src.format(); err == nil && !src.given && !src.content.knowsBoot(bootID) && !k.has(f, src.content) {
			all = append(all, i)
		}
	}
	return all
}

// kin is what files of one node have in common.
type kin struct {
	ids []string // of its checkpoints
	// replaced are those in whose place they were put, by the lock of then. That
	// may have been another's, but no boot is of two nodes.
	replaced []string
	boots    []string
}

// add adds a source that knows this boot.
func (k *kin) add(src source) {
	k.boots = append(k.boots, src.content.boots()...)
	if f, err := src.format(); err == nil {
		k.ids = append(k.ids, f.ID)
		if f.Replaces != "" {
			k.replaced = append(k.replaced, f.Replaces)
		}
	}
}

// has tells whether a checkpoint of this format and content is of the same node.
func (k *kin) has(f Format, c *content) bool {
	if slices.Contains(k.ids, f.ID) || slices.Contains(k.ids, f.Replaces) && f.Replaces != "" {
		return true
	}
	if !slices.Contains(k.replaced, f.ID) && !slices.Contains(k.replaced, f.Replaces) {
		return false
	}
	boots := c.boots()
	return len(boots) == 0 || slices.ContainsFunc(boots, func(b string) bool { return slices.Contains(k.boots, b) })
}
