// Package migrate stands between the verbs (package ipam) and the forms in
// which a node's allocations are stored. A form is one way to store all of
// them: host-local's directory, or the checkpoint's schema 1 (package store).
//
// What is written goes to the checkpoint. A network that host-local has
// reservations for, and that the checkpoint does not know yet, is refused:
// beside them addresses would be given out twice.
package migrate
