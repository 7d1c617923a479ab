// Package crc32c computes CRC-32C (Castagnoli), byte by byte. The standard
// library's own Castagnoli table comes with tables for the processor's
// instruction, and to fill those takes a process longer than to sum up all that
// a call of the plugin reads and writes.
package crc32c

import "hash/crc32"

var table = func() *crc32.Table {
	var t crc32.Table
	for i := range t {
		crc := uint32(i)
		for range 8 {
			if crc&1 == 1 {
				crc = crc>>1 ^ crc32.Castagnoli
			} else {
				crc >>= 1
			}
		}
		t[i] = crc
	}
	return &t
}()

// Sum returns the checksum of the parts, one behind the other.
func Sum(parts ...[]byte) uint32 { return Update(0, parts...) }

// Update returns the checksum of what crc is that of, and the parts behind it.
func Update(crc uint32, parts ...[]byte) uint32 {
	for _, p := range parts {
		crc = crc32.Update(crc, table, p)
	}
	return crc
}
