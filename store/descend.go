package store

import (
	"bytes"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/pages"
)

// unscanned is a checkpoint with too many pages to look at all of them in each
// call. Then those that bbolt is about to read are looked at before it does: on a
// page that leads back to itself it would call itself until the process ends.
type unscanned struct {
	path    string
	data    []byte // a mapping of its own: bbolt's moves when the file grows
	meta    pages.Meta
	scanned bool // by now
}

// mapUnscanned maps a file whose pages were not looked at, nil where they were.
func mapUnscanned(f *os.File, p inspected) (*unscanned, error) {
	if p.whole {
		return nil, nil
	}
	m := p.Meta
	data, err := unix.Mmap(int(f.Fd()), 0, int(m.HighWater)*int(m.PageSize), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", f.Name(), err)
	}
	return &unscanned{path: f.Name(), data: data, meta: m}, nil
}

func (u *unscanned) unmap() {
	if u != nil {
		_ = unix.Munmap(u.data)
	}
}

// descend looks at the pages on the way to a key, and panics with an error that
// wraps ErrDamaged where they are not sound: guard returns it.
func (u *unscanned) descend(path []string, key []byte) {
	if u == nil || u.scanned {
		return
	}
	names := make([][]byte, len(path))
	for i, name := range path {
		names[i] = []byte(name)
	}
	if err := pages.Descend(u.data, u.meta, names, key); err != nil {
		panic(damagedPage(u.path, err))
	}
}

// scan looks at all pages, once, before bbolt goes through many of them.
func (u *unscanned) scan() {
	if u == nil || u.scanned {
		return
	}
	if err := scanAll(u.data, u.meta); err != nil {
		panic(damagedPage(u.path, err))
	}
	u.scanned = true
}

// absent is called where b, the bucket of a network, lacks a document: if not all
// pages were looked at it may be there under another name. It panics as descend does.
func (t *Tx) absent(network string, b *bolt.Bucket) {
	if t.pages == nil || t.pages.scanned {
		return
	}
	path := []string{bucketNetworks, network}
	c := b.Cursor()
	t.pages.descend(path, nil)
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if is := besideOne(k, namesInNetwork); is != "" {
			panic(damagedPage(t.pages.path, fmt.Errorf("network %s: %q stands in the place of %q", network, k, is)))
		}
		t.pages.descend(path, append(bytes.Clone(k), 0)) // where Next goes to
	}
}

// scanMeta looks at all of the bucket meta, as every call goes through most of it.
// It returns what is wrong with the content.
func (u *unscanned) scanMeta() error {
	if u == nil || u.scanned {
		return nil
	}
	s := scanner{}
	if err := pages.ScanBucket(u.data, u.meta, []byte(bucketMeta), s.visit); err != nil {
		panic(damagedPage(u.path, err))
	}
	s.endMeta()
	return s.err
}

func damagedPage(path string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
}
