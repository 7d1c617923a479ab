package store

// ourIDs are the ids of checkpoints that files tell of which know this boot: those
// sources, the lock, and the journal by its first line.
func (s *Store) ourIDs(sources []source, journal journalHeader, bootID string) map[string]bool {
	ids := map[string]bool{}
	for _, src := range sources {
		if f, err := src.format(); err == nil && src.content.knowsBoot(bootID) {
			ids[f.ID], ids[f.Replaces] = true, true
		}
	}
	if w, known, err := readWitness(s.file(LockFile)); err == nil && known && w.BootID == bootID {
		ids[w.Checkpoint] = true
	}
	if journal.BootID == bootID {
		ids[journal.Checkpoint] = true
	}
	delete(ids, "") // of a file that is not there, or replaces none
	return ids
}

// alien tells whether a source is another node's or another data directory's: it
// knows other boots alone, and nobody who knows this one knows it. Where the boot's id
// cannot be read nobody can tell.
func (s source) alien(ids map[string]bool, bootID string) bool {
	f, err := s.format()
	otherBoots := bootID != "" && s.content.newestEpoch() != 0 && !s.content.knowsBoot(bootID)
	return err == nil && otherBoots && !s.given && !ids[f.ID] && !ids[f.Replaces]
}
