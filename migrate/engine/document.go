package engine

import "github.com/bolt-local/bolt-local/migrate/form"

// What heals or repairs a checkpoint asks these of a network's migration document:
// a Progress, as it is stored.

// Complete tells whether the old form, where it is as c says, has all of a
// network. doc is its migration document, nil where nobody knows it: then a form
// that is in use has all, and a bare one, as is left where a tombstone was, says
// nothing.
func Complete(doc []byte, c form.Contents) bool {
	if doc == nil {
		return c.Exists && !c.Bare
	}
	p, err := decodeProgress(doc)
	return err == nil && c.Exists && (p.Phase == Legacy || p.written() && p.Place == c.Place)
}

// OldPath is where a migration document has the old form, "" where it cannot be
// read.
func OldPath(doc []byte) string {
	p, err := decodeProgress(doc)
	if err != nil {
		return ""
	}
	return p.OldPath
}

// OldAlone tells whether the old form alone counts.
func OldAlone(doc []byte) bool {
	p, err := decodeProgress(doc)
	return err == nil && p.Phase == Legacy
}

// Changed returns the document of a network whose allocations are not those of
// its old form any more: the next call takes the old form for replaced, and
// brings both together.
func Changed(doc []byte) []byte {
	p, err := decodeProgress(doc)
	if err != nil || !p.written() {
		return doc
	}
	p.Place, p.Stamp = "", ""
	if changed, err := p.encode(); err == nil {
		return changed
	}
	return doc
}

// written tells whether both forms are, as far as is stored: also where the old one
// was to be opened after the last commit, which the next call notes.
func (p Progress) written() bool { return p.Phase.mirrored() || p.Pending == Switch }

// Shut returns the document of a network whose old form, at path, is shut.
func Shut(path string) []byte {
	doc, err := Progress{Phase: Contract, OldPath: path}.encode()
	if err != nil { // a phase and a path are always JSON
		return nil
	}
	return doc
}
