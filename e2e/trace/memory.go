package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// memory is that of a thread.
type memory int

// read copies so many bytes.
func (m memory) read(address uint64, count int) ([]byte, error) {
	data := make([]byte, count)
	n, err := m.readSome(address, data)
	if err == nil && n < count {
		err = unix.EFAULT
	}
	if err != nil {
		return nil, fmt.Errorf("reading %d bytes at %#x of thread %d: %w", count, address, int(m), err)
	}
	return data, nil
}

// readSome copies up to the first byte that cannot be read.
func (m memory) readSome(address uint64, into []byte) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	local := []unix.Iovec{{Base: &into[0]}}
	local[0].SetLen(len(into))
	return unix.ProcessVMReadv(int(m), local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(into)}}, 0)
}

// string reads up to a NUL byte.
func (m memory) string(address uint64) (string, error) {
	var s []byte
	page := uint64(os.Getpagesize())
	for len(s) < unix.PathMax {
		part := make([]byte, page-(address+uint64(len(s)))%page) // the next page may not be there
		n, err := m.readSome(address+uint64(len(s)), part)
		if err != nil {
			return "", fmt.Errorf("reading a path at %#x of thread %d: %w", address, int(m), err)
		}
		if end := bytes.IndexByte(part[:n], 0); end >= 0 {
			return string(append(s, part[:end]...)), nil
		}
		s = append(s, part[:n]...)
	}
	return "", fmt.Errorf("the path at %#x of thread %d is longer than %d bytes", address, int(m), unix.PathMax)
}

// data is what a call writes.
func (m memory) data(c *Call, s shape) ([]byte, error) {
	address, count := c.argument(s.data), int(c.argument(s.length))
	if !s.iov {
		return m.read(address, count)
	}
	const vector = 16 // sizeof(struct iovec)
	vectors, err := m.read(address, count*vector)
	if err != nil {
		return nil, err
	}
	var all []byte
	for i := range count {
		v := vectors[i*vector:]
		part, err := m.read(word(v), int(word(v[8:])))
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

func word(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }
