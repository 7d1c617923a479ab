// Package nodestatus is what can be known of a node's addresses without
// changing anything: a [Reader] copies one consistent [Snapshot] of the
// checkpoint and of host-local's directories, and [New] makes of it the document
// that `bolt-local status` prints, with what needs attention and with metrics.
//
// Whatever prints, serves or scrapes it is the programs' own. The package is
// linked into the plugin, which starts with every pod: nothing here happens
// before it is called, and it brings no HTTP, gRPC or metrics library along.
package nodestatus
