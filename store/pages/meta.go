package pages

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// Meta is what the newer meta page says.
type Meta struct {
	PageSize  int64  // bytes
	Root      uint64 // page of the root bucket
	Freelist  uint64 // page of the list of free pages
	HighWater uint64 // pages in use have ids below it
	Tx        uint64 // id of the last transaction
}

// within checks that a file of size bytes has all pages in use.
func (m Meta) within(size int64) error {
	if !validPageSize(m.PageSize) || m.HighWater > uint64(size/m.PageSize) {
		return damaged("it is cut off: %d bytes, %d pages of %d are in use", size, m.HighWater, m.PageSize)
	}
	if m.HighWater <= firstPage {
		return damaged("only %d pages are in use", m.HighWater)
	}
	return nil
}

const (
	metaLen     = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2

	offMagic     = 0
	offVersion   = 4
	offPageSize  = 8
	offRoot      = 16
	offFreelist  = 32
	offHighWater = 40
	offTx        = 48
	offChecksum  = 56

	noFreelist = 1<<64 - 1
)

// ReadMeta checks what bbolt trusts when it opens a file of size bytes and
// begins a transaction: both meta pages, the whole freelist, and the header of
// the root page. It does so in a few reads, whatever the size.
//
// Both meta pages have to be good: bbolt goes back to the older one without a
// word where the newer is not, and a transaction is lost.
func ReadMeta(r io.ReaderAt, size int64) (Meta, error) {
	if size == 0 {
		return Meta{}, damaged("it is empty")
	}
	first, err := readMeta(r, 0, 0)
	if err != nil {
		return Meta{}, fmt.Errorf("first meta page: %w", err)
	}
	second, err := readMeta(r, first.PageSize, 1)
	if err != nil {
		return Meta{}, fmt.Errorf("second meta page: %w", err)
	}
	m, fit := newer(first, second)
	if !fit {
		return Meta{}, damaged("the meta pages do not fit together (transactions %d and %d)", first.Tx, second.Tx)
	}
	if err := m.within(size); err != nil {
		return Meta{}, err
	}
	if m.Root < firstPage || m.Root >= m.HighWater {
		return Meta{}, damaged("the root page %d is not one of the pages %d to %d", m.Root, firstPage, m.HighWater-1)
	}
	if _, err := readFreelist(r, m, func(uint64) error { return nil }); err != nil {
		return Meta{}, err
	}
	return m, readRoot(r, m)
}

// newer returns the newer of the two meta pages, and whether they can stand in
// one file: they are of one transaction and the one before. A transaction goes
// to the page that its id modulo 2 gives, but for those in a copy by bbolt's
// WriteTo, which always puts the newer first: the first commit to that may
// replace the newer one, and then one id is missing, and the older meta is
// where its id does not belong.
func newer(first, second Meta) (Meta, bool) {
	m, older, olderPage := first, second, uint64(1)
	if second.Tx > first.Tx {
		m, older, olderPage = second, first, 0
	}
	copied := m.Tx-older.Tx == 2 && older.Tx%2 != olderPage
	return m, first.PageSize == second.PageSize && (m.Tx-older.Tx == 1 || copied)
}

// readMeta reads the meta page with this id, which begins at byte at.
func readMeta(r io.ReaderAt, at int64, id uint64) (Meta, error) {
	var b [headerLen + metaLen]byte
	if err := readAt(r, b[:], at); err != nil {
		return Meta{}, err
	}
	m, err := parseMeta(b[headerLen:])
	if err != nil {
		return Meta{}, err
	}
	// Without one bbolt would write a new one as it opens the file, before it
	// is known whether that may be written.
	if m.Freelist == noFreelist {
		return Meta{}, damaged("another program wrote it, without its list of free pages")
	}
	if h := parseHeader(b[:]); h != (header{id: id, typ: typeMeta}) {
		return Meta{}, damaged("its header is that of page %d, of type %#x", h.id, h.typ)
	}
	return m, nil
}

// parseMeta reads what follows the header of a meta page, metaLen bytes.
func parseMeta(b []byte) (Meta, error) {
	if order.Uint32(b[offMagic:]) != metaMagic {
		return Meta{}, damaged("not a bbolt file")
	}
	if v := order.Uint32(b[offVersion:]); v != metaVersion {
		return Meta{}, damaged("bbolt format %d, not %d", v, metaVersion)
	}
	if order.Uint64(b[offChecksum:]) != metaSum(b) {
		return Meta{}, damaged("wrong checksum")
	}
	m := Meta{
		PageSize:  int64(order.Uint32(b[offPageSize:])),
		Root:      order.Uint64(b[offRoot:]),
		Freelist:  order.Uint64(b[offFreelist:]),
		HighWater: order.Uint64(b[offHighWater:]),
		Tx:        order.Uint64(b[offTx:]),
	}
	if !validPageSize(m.PageSize) {
		return Meta{}, damaged("a page size of %d", m.PageSize)
	}
	return m, nil
}

// metaSum is the checksum of what parseMeta reads.
func metaSum(b []byte) uint64 {
	sum := fnv.New64a()
	sum.Write(b[:offChecksum])
	return sum.Sum64()
}

// readRoot checks the header of the root bucket's page.
func readRoot(r io.ReaderAt, m Meta) error {
	var b [headerLen]byte
	if err := readAt(r, b[:], int64(m.Root)*m.PageSize); err != nil {
		return fmt.Errorf("root page %d: %w", m.Root, err)
	}
	h := parseHeader(b[:])
	if h.id != m.Root || h.typ != typeBranch && h.typ != typeLeaf {
		return damaged("root page %d: its header is that of page %d, of type %#x", m.Root, h.id, h.typ)
	}
	if uint64(h.overflow) >= m.HighWater-m.Root {
		return damaged("root page %d: it goes on for %d pages, beyond the last one", m.Root, h.overflow)
	}
	return nil
}

// readAt fills b. Bytes that are not there are damage.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return damaged("it is too short")
	}
	return err
}
