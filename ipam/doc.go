// Package ipam is the plugin itself: it reads the network configuration, picks
// addresses and carries out the CNI verbs. It sees the stored allocations
// through [State] and knows no file format.
//
// # Rules
//
//   - A verb is one transaction or none, and what fails has changed nothing. GC
//     alone goes on in several where the disk is too full for one.
//   - An attachment gets one address from each range set. Repeating its ADD
//     gives the same answer.
//   - An allocation of an earlier boot is free, unless its namespace is alive.
//     Nothing is freed because of a wall clock.
//   - DEL goes by attachment alone, never by what the configuration says now.
//   - GC frees by the runtime's list, which may be absent, null or empty: three
//     different things.
//   - Errors are CNI errors with a code (errors.go) and name the address,
//     holder, network or field.
package ipam
