package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// pages is what the two meta pages of a bbolt file say, read by hand: bbolt
// maps the file first and looks later, which ends in a panic or SIGBUS on a
// damaged one, and it takes an empty file for a new database.
type pages struct {
	size      int64  // bytes in a page
	highWater uint64 // pages in use are below this id
	tx        uint64 // id of the last transaction
}

// The layout of a bbolt meta page, in the machine's byte order
// (bbolt internal/common: Page, Meta).
const (
	pageHeaderLen = 16
	metaLen       = 64
	metaMagic     = 0xED0CDAED
	metaVersion   = 2

	offMagic     = 0
	offVersion   = 4
	offPageSize  = 8
	offFreelist  = 32
	offHighWater = 40
	offTx        = 48
	offChecksum  = 56

	noFreelist = 1<<64 - 1

	minPageSize = 1 << 9
	maxPageSize = 1 << 16
)

// inspect checks both meta pages and the file's length. Its errors wrap
// ErrDamaged, but for those of reading.
func inspect(f *os.File) (pages, error) {
	info, err := f.Stat()
	if err != nil {
		return pages{}, err
	}
	if info.Size() == 0 {
		return pages{}, fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	first, err := readMeta(f, 0)
	if err != nil {
		return pages{}, fmt.Errorf("first meta page: %w", err)
	}
	second, err := readMeta(f, first.size)
	if err != nil {
		return pages{}, fmt.Errorf("second meta page: %w", err)
	}
	newer, older := first, second
	if second.tx > first.tx {
		newer, older = second, first
	}
	if first.size != second.size || newer.tx != older.tx+1 {
		return pages{}, fmt.Errorf("%w: the meta pages do not fit together (transactions %d and %d)", ErrDamaged, first.tx, second.tx)
	}
	if newer.highWater > uint64(info.Size()/newer.size) {
		return pages{}, fmt.Errorf("%w: it is cut off: %d bytes, %d are in use", ErrDamaged, info.Size(), newer.highWater*uint64(newer.size))
	}
	return newer, nil
}

func readMeta(f *os.File, at int64) (pages, error) {
	var b [metaLen]byte
	if _, err := f.ReadAt(b[:], at+pageHeaderLen); errors.Is(err, io.EOF) {
		return pages{}, fmt.Errorf("%w: it is too short", ErrDamaged)
	} else if err != nil {
		return pages{}, err
	}
	order := binary.NativeEndian
	if order.Uint32(b[offMagic:]) != metaMagic {
		return pages{}, fmt.Errorf("%w: not a bbolt file", ErrDamaged)
	}
	if v := order.Uint32(b[offVersion:]); v != metaVersion {
		return pages{}, fmt.Errorf("%w: bbolt format %d, not %d", ErrDamaged, v, metaVersion)
	}
	sum := fnv.New64a()
	sum.Write(b[:offChecksum])
	if order.Uint64(b[offChecksum:]) != sum.Sum64() {
		return pages{}, fmt.Errorf("%w: wrong checksum", ErrDamaged)
	}
	// Without one bbolt would write a new one as it opens the file, before it
	// is known whether this version may write there.
	if order.Uint64(b[offFreelist:]) == noFreelist {
		return pages{}, fmt.Errorf("%w: another program wrote it, without its list of free pages", ErrDamaged)
	}
	p := pages{
		size:      int64(order.Uint32(b[offPageSize:])),
		highWater: order.Uint64(b[offHighWater:]),
		tx:        order.Uint64(b[offTx:]),
	}
	if p.size < minPageSize || p.size > maxPageSize || p.size&(p.size-1) != 0 {
		return pages{}, fmt.Errorf("%w: a page size of %d", ErrDamaged, p.size)
	}
	return p, nil
}
