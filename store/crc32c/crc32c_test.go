package crc32c

import (
	"hash/crc32"
	"testing"
)

func TestSumIsThatOfTheStandardLibrary(t *testing.T) {
	std := crc32.MakeTable(crc32.Castagnoli)
	b := make([]byte, 300)
	for i := range b {
		b[i] = byte(i * 7)
	}
	for n := range b {
		if got, want := Sum(b[:n]), crc32.Checksum(b[:n], std); got != want {
			t.Fatalf("%d bytes: %08x, want %08x", n, got, want)
		}
		if got, want := Update(Sum(b[:n/2]), b[n/2:n]), crc32.Checksum(b[:n], std); got != want {
			t.Fatalf("%d bytes, one part behind the other: %08x, want %08x", n, got, want)
		}
		if got, want := Sum(b[:n/2], nil, b[n/2:n]), crc32.Checksum(b[:n], std); got != want {
			t.Fatalf("%d bytes in parts: %08x, want %08x", n, got, want)
		}
	}
	if got := Sum([]byte("123456789")); got != 0xE3069283 { // RFC 3720, the check value
		t.Errorf("check value %08x", got)
	}
}
