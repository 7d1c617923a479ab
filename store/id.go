package store

import (
	"encoding/hex"

	"golang.org/x/sys/unix"
)

// newID is 128 random bits. It asks the kernel itself: crypto/rand would add
// its initialization to every start of the plugin.
func newID() (string, error) {
	var b [16]byte
	for {
		n, err := unix.Getrandom(b[:], 0)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return "", err
		case n == len(b): // always so for up to 256 bytes, getrandom(2)
			return hex.EncodeToString(b[:]), nil
		}
	}
}
