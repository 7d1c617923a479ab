// Package migrate stands between the verbs (package ipam) and the forms in
// which a node's allocations are stored. A form is one way to store all of
// them: host-local's directory, or the checkpoint's schema 1 (package store).
//
// What is written goes to the checkpoint. An ADD in a network that host-local
// has reservations for is refused: beside them addresses would be given out
// twice. It is asked each time, since somebody may have gone back to host-local
// and come again.
package migrate
