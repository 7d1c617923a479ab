package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/pages"
	"github.com/bolt-local/bolt-local/store/record"
)

// maxSalvage bounds what is looked at of a damaged file, in bytes: with 100,000
// allocations it has some 50 million, and a damaged one may be a hole of any
// length.
const maxSalvage = 128 << 20

// salvage reads what can be read of a damaged checkpoint.
func salvage(path, name string) (source, error) {
	src := source{name: name, content: newContent(), names: map[string]bool{}}
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return src, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return src, err
	}
	size := min(info.Size(), maxSalvage)
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return src, fmt.Errorf("mapping %s: %w", path, err)
	}
	defer func() { _ = unix.Munmap(data) }()
	err = guard(path, func() error {
		skipped, err := pages.Salvage(data, src.found)
		src.whole = err == nil && skipped == 0 && size == info.Size()
		return err
	})
	if errors.Is(err, pages.ErrDamaged) || errors.Is(err, ErrDamaged) {
		err = nil // there is no more to be had
	}
	src.misnumbered = src.content.misnumbered()
	return src, err
}

// amongAllocations tells whether the key is in the place of a record.
func amongAllocations(f pages.Found) bool {
	return len(f.Path) == 3 && string(f.Path[0]) == bucketNetworks && string(f.Path[2]) == bucketAllocations
}

func (s *source) found(f pages.Found) error {
	value := bytes.Clone(f.Value)
	led := f.Reached && !f.Stale // the newest tree leads here
	addr, err := keyAddr(f.Key)
	// A wrong page may have led to a record. Its checksum knows where it belongs.
	inPlace := led && amongAllocations(f) && err == nil && record.Sound(string(f.Path[1]), addr, f.Value)
	if err == nil && !inPlace {
		s.scraps = append(s.scraps, scrap{addr, value})
	}
	if !led || amongAllocations(f) && err == nil && !inPlace {
		for _, name := range f.Path {
			s.names[string(name)] = true
		}
		return nil
	}
	path := make([]string, len(f.Path))
	for i, name := range f.Path {
		path[i] = string(name)
	}
	if s.content.get(path, string(f.Key)) == nil { // the first is the best
		s.content.put(path, string(f.Key), value)
	}
	return nil
}
