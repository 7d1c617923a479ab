package pages

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func TestReadMetaSaysWhatBboltSays(t *testing.T) {
	f := newFile(t, 0)
	for range 3 {
		f.records(30)
		b := f.bytes()
		m, err := ReadMeta(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		err = f.View(func(tx *bolt.Tx) error {
			if m.Tx != uint64(tx.ID()) || m.PageSize != int64(tx.DB().Info().PageSize) || int64(m.HighWater)*m.PageSize != tx.Size() {
				t.Errorf("%+v, but transaction %d, %d bytes in pages of %d", m, tx.ID(), tx.Size(), tx.DB().Info().PageSize)
			}
			if root := uint64(tx.Cursor().Bucket().Root()); m.Root != root {
				t.Errorf("root page %d, not %d", m.Root, root)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// setMeta changes a number in a meta page and makes its checksum right.
func setMeta(b []byte, page, offset int, v uint64) {
	at := page*512 + headerLen
	if offset == offPageSize {
		order.PutUint32(b[at+offset:], uint32(v))
	} else {
		order.PutUint64(b[at+offset:], v)
	}
	order.PutUint64(b[at+offChecksum:], metaSum(b[at:]))
}

func TestReadMetaRefusesWhatBboltWouldTrust(t *testing.T) {
	f := newFile(t, 512)
	f.records(60)
	whole := f.bytes()
	m, err := ReadMeta(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	last := int(m.Tx % 2) // the newer meta page
	inUse := int(m.HighWater) * 512
	list, root := int(m.Freelist)*512, int(m.Root)*512
	for _, c := range []struct {
		name string
		do   func(b []byte) []byte
		want string
	}{
		{"an empty file", func([]byte) []byte { return nil }, "it is empty"},
		{"one byte", func(b []byte) []byte { return b[:1] }, "first meta page: it is too short"},
		{"one page", func(b []byte) []byte { return b[:512] }, "second meta page: it is too short"},
		{"text", func([]byte) []byte { return bytes.Repeat([]byte("{}\n"), 2000) }, "first meta page: not a bbolt file"},
		{"zeros", func(b []byte) []byte { return make([]byte, len(b)) }, "first meta page: not a bbolt file"},
		{"the first meta page zeroed", func(b []byte) []byte { clear(b[:512]); return b }, "first meta page: not a bbolt file"},
		{"the second meta page zeroed", func(b []byte) []byte { clear(b[512:1024]); return b }, "second meta page: not a bbolt file"},
		{"a flipped transaction id", func(b []byte) []byte { b[headerLen+offTx] ^= 1; return b }, "first meta page: wrong checksum"},
		{"another format", func(b []byte) []byte { b[headerLen+offVersion] = 3; return b }, "first meta page: bbolt format 3, not 2"},
		{"a meta page with another's header", func(b []byte) []byte { b[512] = 0; return b }, "second meta page: its header is that of page 0"},
		{"a meta page of another type", func(b []byte) []byte { b[8] = typeLeaf; return b }, "first meta page: its header is that of page 0, of type 0x2"},
		{"both meta pages the same", func(b []byte) []byte { copy(b[8:512], b[520:1024]); return b }, "do not fit together"},
		{"a meta page that is much older", func(b []byte) []byte { setMeta(b, last, offTx, m.Tx-4); return b }, "do not fit together"},
		{"meta pages of two page sizes", func(b []byte) []byte { setMeta(b, 1, offPageSize, 1024); return b }, "do not fit together"},
		{"a page size that is none", func(b []byte) []byte { setMeta(b, 0, offPageSize, 1000); return b }, "first meta page: a page size of 1000"},
		{"no freelist", func(b []byte) []byte { setMeta(b, 0, offFreelist, noFreelist); return b }, "first meta page: another program wrote it, without its list of free pages"},
		{"cut off by a byte", func(b []byte) []byte { return b[:inUse-1] }, "it is cut off: "},
		{"more pages in use than there are", func(b []byte) []byte { setMeta(b, last, offHighWater, 1<<60); return b }, "it is cut off: "},
		{"no pages in use", func(b []byte) []byte { setMeta(b, last, offHighWater, 0); return b }, "only 0 pages are in use"},
		{"a root in a meta page", func(b []byte) []byte { setMeta(b, last, offRoot, 1); return b }, "the root page 1 is not one of the pages 2 to"},
		{"a root that is not in use", func(b []byte) []byte { setMeta(b, last, offRoot, m.HighWater); return b }, "the root page"},
		{"a root that is the freelist", func(b []byte) []byte { setMeta(b, last, offRoot, m.Freelist); return b }, "root page"},
		{"a root with another id", func(b []byte) []byte { b[root]++; return b }, "its header is that of page"},
		{"a root of another type", func(b []byte) []byte { b[root+8] = 3; return b }, "of type 0x3"},
		{"a root that never ends", func(b []byte) []byte { order.PutUint32(b[root+12:], 1<<31); return b }, "it goes on for"},
		{"a freelist in a meta page", func(b []byte) []byte { setMeta(b, last, offFreelist, 0); return b }, "freelist, page 0: it is not one of the pages 2 to"},
		{"a freelist that is not in use", func(b []byte) []byte { setMeta(b, last, offFreelist, m.HighWater); return b }, "freelist, page"},
		{"a freelist that is the root", func(b []byte) []byte { setMeta(b, last, offFreelist, m.Root); return b }, "freelist, page"},
		{"a freelist with another id", func(b []byte) []byte { b[list]++; return b }, "its header is that of page"},
		{"a freelist of another type", func(b []byte) []byte { b[list+8] = typeLeaf; return b }, "of type 0x2"},
		{"a freelist that never ends", func(b []byte) []byte { order.PutUint32(b[list+12:], 1<<31); return b }, "it goes on for"},
		{"a freelist with a page too many", func(b []byte) []byte {
			order.PutUint32(b[list+12:], 1)
			setMeta(b, last, offHighWater, m.HighWater+1) // in case it is the last page
			return b
		}, "it has 2 pages for"},
		{"a freelist with too many ids", func(b []byte) []byte { order.PutUint16(b[list+10:], 0xFFFE); return b }, "it has no room for 65534 ids"},
		{"a long freelist with no ids", func(b []byte) []byte {
			order.PutUint16(b[list+10:], 0xFFFF)
			order.PutUint64(b[list+16:], 1)
			return b
		}, "it has 1 ids, but the form of 65535 and more"},
		{"a long freelist with more ids than there is memory", func(b []byte) []byte {
			order.PutUint16(b[list+10:], 0xFFFF)
			order.PutUint64(b[list+16:], 1<<60)
			return b
		}, "it has no room for"},
		{"a meta page that is free", func(b []byte) []byte { order.PutUint64(b[list+16:], 1); return b }, "page 1 follows page 1"},
		{"a page that is free twice", func(b []byte) []byte { copy(b[list+24:list+32], b[list+16:]); return b }, "follows page"},
		{"a page that is free and does not exist", func(b []byte) []byte {
			n := int(order.Uint16(b[list+10:]))
			order.PutUint64(b[list+8+8*n:], m.HighWater)
			return b
		}, "is not one of the pages 2 to"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.do(bytes.Clone(whole))
			_, err := ReadMeta(bytes.NewReader(b), int64(len(b)))
			isDamage(t, err)
			if err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q does not say %q", err, c.want)
			}
		})
	}
}

type failing struct{ io.ReaderAt }

func (failing) ReadAt([]byte, int64) (int, error) { return 0, os.ErrPermission }

func TestAnErrorOfReadingIsNoDamage(t *testing.T) {
	_, err := ReadMeta(failing{}, 1<<20)
	if !errors.Is(err, os.ErrPermission) || errors.Is(err, ErrDamaged) {
		t.Errorf("err = %v", err)
	}
}

// A copy by WriteTo has the newer meta page first, whatever its transaction.
func TestACopyByBboltIsSoundAndStaysSo(t *testing.T) {
	for commits := range 4 {
		f := newFile(t, 0)
		for range commits {
			f.records(20)
		}
		path := f.path + ".copy"
		if err := f.View(func(tx *bolt.Tx) error { return tx.CopyFile(path, 0o600) }); err != nil {
			t.Fatal(err)
		}
		c := openFile(t, path, 0)
		for range 4 {
			scanned(t, c.bytes())
			c.records(1)
		}
	}
}

// A commit overwrites the older meta page, so of the two only the newer tells
// of it: a file in which that is bad has lost a transaction.
func TestALostTransactionIsNoticed(t *testing.T) {
	f := newFile(t, 0)
	f.records(20)
	before := f.bytes()
	f.records(1)
	after := f.bytes()
	newest := 0
	if !bytes.Equal(before[4096:8192], after[4096:8192]) {
		newest = 4096
	}
	clear(after[newest : newest+4096])
	isDamage(t, check(after, ignore))
}
