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
// record and document of a network, and of meta, and whether both indexes of a
// network name the same addresses. bbolt has not mapped the file yet. The error wraps
// errContent where bbolt can.
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
	s.endMeta()
	return s.err
}

// scanner gets all keys of a checkpoint in their order: those of a network one
// after the other, its allocations before its attachments.
type scanner struct {
	network   []byte
	allocated []addrBytes
	records   [][]byte // of each of them
	attached  []addrBytes
	meta      metaSum
	err       error // the first that is wrong with the content
}

type addrBytes [addrLen]byte

func (a addrBytes) compare(b addrBytes) int { return bytes.Compare(a[:], b[:]) }

func (s *scanner) visit(path [][]byte, key, value []byte) error {
	switch string(path[0]) {
	case bucketMeta:
		s.visitMeta(path, key, value)
	case bucketNetworks:
		if len(path) > 1 {
			s.visitNetwork(path, key, value)
		}
	default:
		s.beside(path[0], namesAtTop)
	}
	return nil
}

func (s *scanner) visitMeta(path [][]byte, key, value []byte) {
	name := key
	if len(path) > 1 {
		name = path[1]
	} else if _, err := unseal("", keyLost, value); err != nil && string(key) == keyLost {
		s.wrong(fmt.Errorf("meta/%s: %w", keyLost, err))
	}
	s.beside(name, namesInMeta)
	s.meta.add(path, key, value)
}

func (s *scanner) visitNetwork(path [][]byte, key, value []byte) {
	switch {
	case len(path) == 3 && string(path[2]) == bucketAllocations:
		s.allocation(path[1], key, value)
	case len(path) == 3 && string(path[2]) == bucketAttachments:
		s.attachment(path[1], key)
	case len(path) > 2:
		s.besideIn(path[1], path[2])
	case isDocument(string(key)):
		if _, err := unseal(string(path[1]), string(key), value); err != nil {
			s.damagedIn(path[1], fmt.Errorf("the %s: %w", key, err))
		}
	default:
		s.besideIn(path[1], key)
	}
}

// in goes on in a network.
func (s *scanner) in(network []byte) {
	if !bytes.Equal(network, s.network) {
		s.endNetwork()
		s.network = network
	}
}

func (s *scanner) allocation(network, key, value []byte) {
	s.in(network)
	addr, err := keyAddr(key)
	if err != nil {
		s.damaged(err)
		return
	}
	if !record.Sound(string(s.network), addr, value) {
		s.damaged(fmt.Errorf("the record of %s has a wrong checksum", addr))
	}
	s.allocated, s.records = append(s.allocated, addrBytes(key)), append(s.records, value)
}

func (s *scanner) attachment(network, key []byte) {
	s.in(network)
	att, addr, err := parseAttachmentKey(key)
	if err != nil {
		s.damaged(err)
		return
	}
	s.attached = append(s.attached, addr.As16())
	// An address without a record is told at the end of the network.
	if i, ok := slices.BinarySearchFunc(s.allocated, addrBytes(addr.As16()), addrBytes.compare); ok &&
		!record.Names(string(s.network), addr, s.records[i], att) {
		s.damaged(fmt.Errorf("container %s, ifname %s lists %s, which it does not hold", att.ContainerID, att.IfName, addr))
	}
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

// endMeta holds the bucket meta against its checksum.
func (s *scanner) endMeta() {
	if err := s.meta.check(); err != nil {
		s.wrong(err)
	}
}

// beside: a name that is one bit away from one of ours was that.
func (s *scanner) beside(name []byte, ours []string) {
	if is := besideOne(name, ours); is != "" {
		s.wrong(fmt.Errorf("%q stands in the place of %q", name, is))
	}
}

func (s *scanner) besideIn(network, name []byte) {
	if is := besideOne(name, namesInNetwork); is != "" {
		s.damagedIn(network, fmt.Errorf("%q stands in the place of %q", name, is))
	}
}

func (s *scanner) damaged(err error) { s.damagedIn(s.network, err) }

func (s *scanner) damagedIn(network []byte, err error) {
	s.wrong(fmt.Errorf("network %s: %w", network, err))
}

func (s *scanner) wrong(err error) {
	if s.err == nil {
		s.err = fmt.Errorf("%w: %w", errContent, err)
	}
}
