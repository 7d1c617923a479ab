package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/store/pages"
	"github.com/bolt-local/bolt-local/store/record"
)

// A source is a file that knows something of a checkpoint.
type source struct {
	name    string // for people
	content *content
	// scraps are what lies in pages that nothing leads to, by address. Only their
	// checksum tells of which network they are.
	scraps []scrap
	// names may be those of networks: buckets above keys that nothing leads to.
	names map[string]bool
	// whole: nothing of it is missing.
	whole bool
	// given: a person has named it, and knows of which node it is.
	given bool
}

type scrap struct {
	addr  netip.Addr
	value []byte
}

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
	return src, err
}

// id is that of the checkpoint, "" where it cannot be read.
func (s source) id() string {
	f, err := s.format()
	if err != nil {
		return ""
	}
	return f.ID
}

func (s source) format() (Format, error) {
	return parseFormat(s.content.get([]string{bucketMeta}, keyFormat))
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

// contestedIn returns, by network, an address that has several holders of this boot;
// the zero Addr where an earlier healing has found that.
func contestedIn(sources []source, bootID string) map[string]netip.Addr {
	found := map[string]netip.Addr{}
	for _, s := range sources {
		for _, network := range s.content.loss().Contested {
			found[network] = netip.Addr{}
		}
		names := maps.Clone(s.names)
		if names == nil {
			names = map[string]bool{}
		}
		for name := range s.content.migrations() {
			names[name] = true
		}
		for name := range names {
			if addr, is := s.contested(name, bootID); is {
				found[name] = addr
			}
		}
	}
	return found
}

// contested returns an address of a network that has several holders of this boot.
func (s source) contested(network, bootID string) (netip.Addr, bool) {
	current := s.content.currentEpoch(bootID)
	is := func(addr netip.Addr, value []byte) bool {
		a, err := record.Decode(network, addr, value)
		return err == nil && len(a.Holders) > 1 && (a.Epoch == 0 || a.Epoch >= current)
	}
	for key, value := range s.content.at(bucketNetworks, network, bucketAllocations).eachValue() {
		if addr, err := keyAddr([]byte(key)); err == nil && is(addr, value) {
			return addr, true
		}
	}
	for _, scrap := range s.scraps {
		if is(scrap.addr, scrap.value) {
			return scrap.addr, true
		}
	}
	return netip.Addr{}, false
}

// readFile reads a checkpoint that has to be sound, and one that this version
// may write.
func (s *Store) readFile(path, name string, deadline time.Time) (source, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if errors.Is(err, ErrNotRegular) { // a person may have any reason to keep it
		return source{}, fmt.Errorf("%w: %s is not a regular file", ErrBackup, path)
	}
	if err != nil {
		return source{}, err
	}
	_, err = inspect(f, true)
	_ = f.Close()
	if err != nil {
		return source{}, unusable(path, err)
	}
	src := source{name: name, whole: true, given: true}
	err = s.viewBolt(path, deadline, false, func(_ *os.File, tx *bolt.Tx) error {
		t, err := s.begin(tx, nil, "") // all of it was looked at
		if err == nil {
			err = t.format.mayWrite()
		}
		if err == nil {
			err = t.Verify()
		}
		if err == nil {
			src.content, err = readContent(tx)
		}
		return err
	})
	if err != nil {
		return source{}, unusable(path, err)
	}
	return src, nil
}

// unusable tells of a backup. That a newer version is needed for it is told as
// ever; that it is damaged must not pass for damage of the checkpoint.
func unusable(path string, err error) error {
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: %s: %s", ErrBackup, path, strings.TrimPrefix(err.Error(), ErrDamaged.Error()+": "))
	}
	return fmt.Errorf("%w: %s: %w", ErrBackup, path, err)
}

// keptFiles are the damaged files and journals of which c tells and that nobody
// has taken everything from.
func (s *Store) keptFiles(c *content) ([]source, error) {
	var all []source
	notes := c.at(bucketMeta, bucketDamage).eachValue()
	for _, key := range slices.Sorted(maps.Keys(notes)) {
		d, err := parseDamage(key, notes[key])
		if err != nil || !d.Unsearched() {
			continue
		}
		if d.Journal != "" {
			r, err := readJournal(s.file(d.Journal))
			if unread(err) {
				return nil, err
			}
			if err == nil {
				all = append(all, source{name: d.Journal, content: r.content})
			}
		}
		if d.Kept == "" {
			continue
		}
		kept, err := salvage(s.file(d.Kept), d.Kept)
		if err != nil && !missing(err) {
			return nil, fmt.Errorf("reading %s: %w", s.file(d.Kept), err)
		}
		all = append(all, kept)
	}
	return all, nil
}

// scrapClaims finds out of which network each scrap is. What is of an earlier
// boot, as far as the source tells, is none.
func (s source) scrapClaims(networks []string, bootID string, alive func(record.NetNS) bool) []claim {
	current := s.content.currentEpoch(bootID)
	var all []claim
	for _, sc := range s.scraps {
		for _, network := range networks {
			if !record.Sound(network, sc.addr, sc.value) {
				continue
			}
			a, err := record.Decode(network, sc.addr, sc.value)
			if err == nil && !earlier(a, current, alive) {
				all = append(all, claim{network, a, "a page that nothing leads to, in " + s.name})
			}
		}
	}
	return all
}

// networksIn are the names that networks may have, by what any source has.
func networksIn(sources []source) []string {
	names := map[string]bool{}
	for _, s := range sources {
		for name := range s.content.at(bucketNetworks).each() {
			names[name] = true
		}
		maps.Copy(names, s.names)
	}
	return slices.Sorted(maps.Keys(names))
}

// mergeRest puts everything of the sources together but for allocations and what
// is counted in them: of each key the first source that has it. The numbers of
// boots, and what goes by them, come from one source, of bootID if any knows it:
// another checkpoint had others for the same boots.
func mergeRest(sources []source, bootID string) *content {
	all := newContent()
	for _, s := range sources {
		all.fillIn(s.content)
	}
	for _, network := range all.at(bucketNetworks).each() {
		delete(network.buckets, bucketAllocations)
		delete(network.buckets, bucketAttachments)
	}
	if meta := all.at(bucketMeta); meta != nil {
		delete(meta.buckets, bucketUnnumbered)
		delete(meta.buckets, bucketEpochs)
		delete(meta.values, keyAccepted)
	}
	counting := slices.IndexFunc(sources, func(s source) bool { return s.content.knowsBoot(bootID) })
	if counting < 0 {
		counting = slices.IndexFunc(sources, func(s source) bool { return s.content.newestEpoch() > 0 })
	}
	if counting < 0 {
		return all
	}
	from := sources[counting].content.at(bucketMeta)
	all.make(bucketMeta, bucketEpochs).fillIn(from.at(bucketEpochs))
	if accepted, there := from.values[keyAccepted]; there {
		all.put([]string{bucketMeta}, keyAccepted, accepted)
	}
	return all
}

// fillIn adds to c what other has and c has not, and tells whether that is
// anything.
func (c *content) fillIn(other *content) (changed bool) {
	for key, value := range other.eachValue() {
		if _, there := c.values[key]; !there && c.buckets[key] == nil {
			c.values[key], changed = value, true
		}
	}
	for name, b := range other.each() {
		delete(c.values, name) // a name is one or the other
		if c.make(name).fillIn(b) {
			changed = true
		}
	}
	return changed
}

// putAllocation stores an allocation of the boot with bootID, in both indexes.
// Where that has no number the next runtime verb gives it one.
func (c *content) putAllocation(network string, a record.Allocation, bootID string) error {
	a.Epoch = 0
	if c.knowsBoot(bootID) {
		a.Epoch = c.newestEpoch()
	}
	value, err := record.Encode(network, a)
	if err != nil {
		return err
	}
	in := func(bucket string) []string { return []string{bucketNetworks, network, bucket} }
	c.put(in(bucketAllocations), string(addrKey(a.Addr)), value)
	for _, h := range a.Holders {
		c.put(in(bucketAttachments), string(attachmentKey(h.Attachment, a.Addr)), []byte{})
	}
	unnumbered, key := c.make(bucketMeta, bucketUnnumbered), string(unnumberedKey(network, a.Addr))
	delete(unnumbered.values, key)
	if a.Epoch == 0 {
		unnumbered.values[key] = []byte{}
	}
	return nil
}

// missing: a source that is not there is none.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
