package store

import "bytes"

// Migration returns the document that SetMigration has stored, nil where there
// is none. The store does not look into it.
func (n *Network) Migration() ([]byte, error) {
	doc, err := n.document(keyMigration)
	return bytes.Clone(doc), err
}

// SetMigration stores a document that says where the network's migration
// stands. The same bytes again write nothing.
func (n *Network) SetMigration(doc []byte) error { return n.setDocument(keyMigration, doc) }
