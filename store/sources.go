package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"

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
	// misnumbered: see [content.misnumbered].
	misnumbered bool
	// given: a person has named it, and knows of which node it is.
	given bool
}

type scrap struct {
	addr  netip.Addr
	value []byte
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

// missing: a source that is not there is none.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
