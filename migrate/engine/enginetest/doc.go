// Package enginetest has the pairs of forms that the migration engine is held
// against. One is the pair that nodes have: host-local's directory and schema 1
// of the checkpoint. The other is made of quite different mechanics, so that
// the engine is shown to know forms and not host-local.
//
// Beside each old form stands what others do to it: whoever knows that form
// alone, and whoever meddles with its files. It is for tests only.
package enginetest
