// Package migrate stands between the verbs (package ipam) and the forms in
// which a node's allocations are stored. It is the ipam.State of a node: each
// call opens the checkpoint (package store), and the migration engine (package
// engine) keeps it in step with host-local's directory (package hostlocal) as
// far as the network's phase asks for it. What neither knows is filled in from
// libcni's result caches (package cnicache).
//
// Locks are taken in this order: the store's own, bbolt's, host-local's. All
// are waited for together as long as LockTimeout.
package migrate
