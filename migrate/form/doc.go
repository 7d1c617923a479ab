// Package form is the vocabulary between the migration engine and the forms in
// which a network can be stored. A form knows all of one network; the engine
// knows forms, and none of their names.
//
// Two forms stand beside each other at a time: the [Old] one, which is being
// left and which others may still write, and the [New] one, a part of the
// checkpoint's transaction. Form 0 is host-local's directory (package
// hostlocal), form 1 the checkpoint's schema 1 (package store); each later
// schema is one more.
package form
