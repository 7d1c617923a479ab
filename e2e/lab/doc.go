// Package lab holds what the end-to-end tests and the demo share: it builds
// the real plugins, makes network namespaces, plays a container runtime with
// libcni, calls a plugin as a process, and sends packets between two pods.
//
// The main plugins create their devices in the namespace of the process that
// runs them. So the lab runs each of them in a namespace of its own, the node,
// and never in the host's.
package lab
