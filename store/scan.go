package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/pages"
	"github.com/bolt-local/bolt-local/store/record"
)

// scanPages is up to how many pages in use every call looks at all of them: to
// look at 128 costs less than a tenth of a commit.
const scanPages = 128

// errContent: the pages are sound, and what they hold is not: bbolt can read it.
var errContent = errors.New("its content does not fit together")

// scan looks at all pages in use: at their structure, at the checksum of each
// record and document of a network, and whether both its indexes name the same
// addresses. bbolt has not mapped the file yet. The error wraps errContent where it can.
func scan(f *os.File, m pages.Meta) error {
	data, err := unix.Mmap(int(f.Fd()), 0, int(m.HighWater)*int(m.PageSize), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("mapping it: %w", err)
	}
	defer func() { _ = unix.Munmap(data) }()
	return guard(f.Name(), func() error {
		if err := scanAll(data, m); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return nil
	})
}

// scanAll is scan of what is mapped.
func scanAll(data []byte, m pages.Meta) error {
	s := scanner{}
	if err := pages.Scan(data, m, s.visit); err != nil {
		return err
	}
	s.endNetwork()
	return s.err
}

// scanner gets all keys of a checkpoint in their order: those of a network one
// after the other, its allocations before its attachments.
type scanner struct {
	network   []byte
	allocated []addrBytes
	records   [][]byte // of each of them
	attached  []addrBytes
	err       error // the first that is wrong with the content
}

type addrBytes [addrLen]byte

func (a addrBytes) compare(b addrBytes) int { return bytes.Compare(a[:], b[:]) }

func (s *scanner) visit(path [][]byte, key, value []byte) error {
	switch {
	case len(path) == 1 && string(path[0]) == bucketMeta && string(key) == keyLost:
		if _, err := unseal("", keyLost, value); err != nil && s.err == nil {
			s.err = fmt.Errorf("%w: meta/%s: %w", errContent, keyLost, err)
		}
		return nil
	case len(path) == 0 || string(path[0]) != bucketNetworks:
		return nil
	case len(path) == 2 && isDocument(string(key)):
		if _, err := unseal(string(path[1]), string(key), value); err != nil {
			s.damagedIn(path[1], fmt.Errorf("the %s: %w", key, err))
		}
		return nil
	case len(path) != 3:
		return nil
	}
	if !bytes.Equal(path[1], s.network) {
		s.endNetwork()
		s.network = path[1]
	}
	switch string(path[2]) {
	case bucketAllocations:
		addr, err := keyAddr(key)
		if err != nil {
			s.damaged(err)
			return nil
		}
		if !record.Sound(string(s.network), addr, value) {
			s.damaged(fmt.Errorf("the record of %s has a wrong checksum", addr))
		}
		s.allocated, s.records = append(s.allocated, addrBytes(key)), append(s.records, value)
	case bucketAttachments:
		att, addr, err := parseAttachmentKey(key)
		if err != nil {
			s.damaged(err)
			return nil
		}
		s.attached = append(s.attached, addr.As16())
		// An address without a record is told at the end of the network.
		if i, ok := slices.BinarySearchFunc(s.allocated, addrBytes(addr.As16()), addrBytes.compare); ok &&
			!record.Names(string(s.network), addr, s.records[i], att) {
			s.damaged(fmt.Errorf("container %s, ifname %s lists %s, which it does not hold", att.ContainerID, att.IfName, addr))
		}
	}
	return nil
}

// endNetwork holds both indexes against each other.
func (s *scanner) endNetwork() {
	slices.SortFunc(s.attached, addrBytes.compare)
	attached := slices.Compact(s.attached) // two may hold one address
	if !slices.Equal(s.allocated, attached) {
		s.damaged(fmt.Errorf("%d addresses are allocated, and %d are attached", len(s.allocated), len(attached)))
	}
	s.allocated, s.records, s.attached = s.allocated[:0], s.records[:0], s.attached[:0]
}

func (s *scanner) damaged(err error) { s.damagedIn(s.network, err) }

func (s *scanner) damagedIn(network []byte, err error) {
	if s.err == nil {
		s.err = fmt.Errorf("%w: network %s: %w", errContent, network, err)
	}
}
