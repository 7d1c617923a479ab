package pages

import (
	"fmt"
	"io"
)

// longFreelist is the count of a freelist whose first element has the count.
const longFreelist = 0xFFFF

// freelistChunk is how many bytes of a freelist are read at once.
const freelistChunk = 4096

// readFreelist checks the freelist of m and calls each with the ids on it,
// which ascend. It returns how many pages the list itself takes.
func readFreelist(r io.ReaderAt, m Meta, each func(id uint64) error) (pages uint64, err error) {
	pages, err = freelist(r, m, each)
	if err != nil {
		return 0, fmt.Errorf("freelist, page %d: %w", m.Freelist, err)
	}
	return pages, nil
}

func freelist(r io.ReaderAt, m Meta, each func(id uint64) error) (uint64, error) {
	if m.Freelist < firstPage || m.Freelist >= m.HighWater {
		return 0, damaged("it is not one of the pages %d to %d", firstPage, m.HighWater-1)
	}
	var b [headerLen + idLen]byte
	at := int64(m.Freelist) * m.PageSize
	if err := readAt(r, b[:], at); err != nil {
		return 0, err
	}
	h := parseHeader(b[:])
	if h.id != m.Freelist || h.typ != typeFreelist {
		return 0, damaged("its header is that of page %d, of type %#x", h.id, h.typ)
	}
	if uint64(h.overflow) >= m.HighWater-m.Freelist {
		return 0, damaged("it goes on for %d pages, beyond the last one", h.overflow)
	}
	pages := uint64(h.overflow) + 1
	room := (pages*uint64(m.PageSize) - headerLen) / idLen
	count := uint64(h.count)
	at += headerLen
	if count == longFreelist {
		count = order.Uint64(b[headerLen:])
		at += idLen
		room--
		if count < longFreelist {
			return 0, damaged("it has %d ids, but the form of %d and more", count, longFreelist)
		}
	}
	if count > room {
		return 0, damaged("it has no room for %d ids", count)
	}
	// bbolt may have taken the pages from the list itself, after it had counted.
	size := uint64(m.PageSize)
	if pages != freelistPages(count, size) && pages != freelistPages(count+pages, size) {
		return 0, damaged("it has %d pages for %d ids", pages, count)
	}
	return pages, freeIDs(r, m, at, count, each)
}

// freelistPages is how many pages bbolt takes for a list of count ids. The next
// commit frees as many as the list says that it has.
func freelistPages(count, pageSize uint64) uint64 {
	if count >= longFreelist {
		count++
	}
	return (headerLen+count*idLen)/pageSize + 1
}

// freeIDs calls each with the count ids that begin at byte at.
func freeIDs(r io.ReaderAt, m Meta, at int64, count uint64, each func(id uint64) error) error {
	buf := make([]byte, min(count*idLen, freelistChunk))
	last := uint64(firstPage - 1)
	for count > 0 {
		b := buf[:min(count*idLen, freelistChunk)]
		if err := readAt(r, b, at); err != nil {
			return err
		}
		at += int64(len(b))
		count -= uint64(len(b)) / idLen
		for ; len(b) > 0; b = b[idLen:] {
			id := order.Uint64(b)
			if id <= last || id >= m.HighWater {
				return damaged("page %d follows page %d, or is not one of the pages %d to %d", id, last, firstPage, m.HighWater-1)
			}
			if err := each(id); err != nil {
				return err
			}
			last = id
		}
	}
	return nil
}
