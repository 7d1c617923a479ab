// Package cmdline writes commands for the operator, in whichever text they stand:
// copied as they are, they do what the text says, on this node. So they name a
// data directory and sources that are not where a command looks by itself.
package cmdline
