package store

import (
	"fmt"
	"os"

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

func damagedPage(path string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
}
