package store

import (
	"crypto/rand"
	"encoding/hex"
)

// newID is 128 random bits.
func newID() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}
