package pages

import (
	"io"
	"os"
)

// LastTx returns the id of the last transaction that may have been in a damaged
// file. It reports false where neither meta page is good. Where one of them is
// gone, that may have been the newer one.
func LastTx(r io.ReaderAt) (tx uint64, readable bool) {
	first, firstErr := readMeta(r, 0, 0)
	size := first.PageSize
	if firstErr != nil {
		size = int64(os.Getpagesize())
	}
	second, secondErr := readMeta(r, size, 1)
	switch {
	case firstErr == nil && secondErr == nil:
		return max(first.Tx, second.Tx), true
	case firstErr == nil:
		return first.Tx + 1, true
	case secondErr == nil:
		return second.Tx + 1, true
	}
	return 0, false
}
