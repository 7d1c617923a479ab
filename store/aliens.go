package store

// aliens returns which of these sources are another node's or another data
// directory's: such a one knows nothing of this boot while others do, and these do
// not know it. journal is the first line of the journal, named that another file
// says that this boot has written to the checkpoint.
func (s *Store) aliens(sources []source, journal journalHeader, bootID string, named bool) []int {
	ids := map[string]bool{}
	ours := func(id string) {
		if id != "" {
			ids[id] = true
		}
	}
	for _, src := range sources {
		if !src.content.knowsBoot(bootID) {
			continue
		}
		named = true
		if f, err := src.format(); err == nil {
			ours(f.ID)
			ours(f.Replaces)
		}
	}
	// A lock of another boot says less than what this boot has written to.
	w, known, err := readWitness(s.file(LockFile))
	if err == nil && known && (w.BootID == bootID || len(ids) == 0) {
		ours(w.Checkpoint)
	}
	if journal.BootID == bootID {
		ours(journal.Checkpoint)
	}
	if len(ids) == 0 && !named {
		return nil // nobody can tell
	}
	var all []int
	for i, src := range sources {
		if src.given || src.content.knowsBoot(bootID) {
			continue
		}
		if f, err := src.format(); err == nil && !ids[f.ID] && !ids[f.Replaces] {
			all = append(all, i)
		}
	}
	return all
}
